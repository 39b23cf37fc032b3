//! Tables of snippets, by class.

use super::{evaluate, interpreter};
use crate::stdlib::oracle::ruby;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;
use underpin_test_support::need;

/// Evaluates each in both, and tells all that differ.
fn compare(snippets: &[&str]) {
    let theirs = ruby(
        "INPUT.map { |snippet| begin; eval(\"proc do\\n#{snippet}\\nend\").call; rescue StandardError, ScriptError => error; \"#{error.class}: #{error.message}\"; end.inspect }",
        &json!(snippets),
    );
    let mut interpreter = interpreter();
    evaluate(&mut interpreter, "FoolsGold::Native.require_feature('json'); FoolsGold::Native.require_feature('uri')");
    let mut wrong = Vec::new();
    for (snippet, expected) in snippets.iter().zip(theirs.as_array().unwrap()) {
        let ours = evaluate(&mut interpreter, snippet);
        if json!(ours) != *expected {
            wrong.push(format!("{snippet}\n    CRuby {}\n    ours  {ours}", expected.as_str().unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), snippets.len(), wrong.join("\n"));
}

#[test]
fn regexp() {
    need!("ruby");
    compare(&[
        "/a(.)c/ =~ 'xabc'",
        "'xabc' =~ /a(.)c/; [$~[0], $1, $2, $~.pre_match, $~.post_match]",
        "'xabc' =~ /a(.)c/; [$&, $`, $', $+]",
        "'éxabc' =~ /a(.)c/",
        "'x' =~ /y/; [$~, $1]",
        "/a/.match('b')",
        "/(?<year>\\d+)-(?<mon>\\d+)/.match('on 2026-11')",
        "m = /(?<year>\\d+)-(?<mon>\\d+)/.match('on 2026-11'); [m[:year], m['mon'], m[0], m[1], m.names, m.captures, m.named_captures, m.begin(:mon), m.offset(1), m.end(0)]",
        "m = /(.)(.)(x)?/.match('éab'); [m.to_a, m.begin(2), m.end(2), m.offset(3), m.pre_match, m.post_match, m.size, m.values_at(0, 2, -1), m.string, m.regexp]",
        "/(.)/.match('abc', 1)[0]",
        "/(.)/.match('abc', -1)[0]",
        "/(.)/.match('abc', 9)",
        "/b/.match('abc') { |m| m[0] * 2 }",
        "/b/.match?('abc')",
        "/b/.match?(nil)",
        "/B/i.match?('abc')",
        "'abc' =~ /b/; /x/.match?('y'); $~[0]",
        "/b/ === 'abc'",
        "/b/ === nil",
        "/b/ === :abc",
        "/b/ === 3",
        "case 'hello 42' when /(\\d+)/ then $1 else 0 end",
        "%w[apple bob cat].grep(/b/)",
        "%w[apple bob cat].grep(/(.)b/) { $1 }",
        "%w[apple bob cat].grep_v(/b/)",
        "Regexp.escape('a.b*c [x] \\n-')",
        "Regexp.union",
        "Regexp.union('a.b', /c/i)",
        "Regexp.union(['x', 'y'])",
        "Regexp.union(/z/)",
        "Regexp.new('a/b').inspect",
        "Regexp.new('a b', Regexp::EXTENDED | Regexp::IGNORECASE).to_s",
        "Regexp.new('a', true).options",
        "Regexp.new(/x/m).options",
        "/a/mix.options",
        "/a/mix.source",
        "/#{'a.b'}c/.source",
        "/x#{/y/i}/.source",
        "/a/ == /a/",
        "/a/ == /a/i",
        "/a/.eql?(/a/)",
        "/a/.hash == /a/.hash",
        "{ /a/ => 1 }[/a/]",
        "/(?<a>.)(?<b>.)/.names",
        "/(?<a>.)(?<a>.)/.named_captures",
        "Regexp.new('(')",
        "Regexp.new('[b-a]')",
        "Regexp.new(3)",
        "/a/ =~ 3",
        "'ab' =~ 'a'",
        "'ab'.match('b')[0]",
        "'ab'.match('(')",
        "'ab'.match?('b')",
        "'ab'.match(/x/)",
        "Regexp.last_match",
        "'abc'.match(/b(.)/); [Regexp.last_match(0), Regexp.last_match(1)]",
        ":abc =~ /c/",
        ":abc.match?(/c/)",
        "nil =~ /x/",
        "/\\A[[:space:]]*\\z/.match?(\" \\n\")",
        "/日(.)/.match('日本語').begin(1)",
        "/x/.match('x').inspect",
        "/(x)(y)?/.match('x').inspect",
        "/(x)/.match('x') == /(x)/.match('x')",
        "case { a: 1 } when Hash then 'h' end",
        "if /(?<n>\\d+)/ =~ 'a12' then $~[:n] end",
        "'foo.bar'.match(/(?<a>\\w+)\\.(?<b>\\w+)/)[:c]",
        "'foo'.match(/o/)[5]",
        "'foo'.match(/o/).begin(5)",
        "/a/.frozen?",
    ]);
}

#[test]
fn strings_with_patterns() {
    need!("ruby");
    compare(&[
        "'hello world'.scan(/o/)",
        "'hello world'.scan(/(l)(.)/)",
        "'hello'.scan('l')",
        "out = []; 'a1b2'.scan(/([a-z])(\\d)/) { |a, b| out << [a, b, $~[0]] }; out",
        "'été'.scan(/./)",
        "'ab'.scan(//)",
        "'hello'.sub('l', 'L')",
        "'hello'.sub(/l/) { |m| m.upcase }",
        "'hello'.gsub(/l/, 'L')",
        "'hello'.gsub('l') { 'L' }",
        "'hello'.gsub(/[el]/, 'e' => '3', 'l' => 1)",
        "'hello'.gsub(/(l)(o)?/, '<\\\\1|\\\\2>')",
        "'hello'.gsub(/(?<x>l)/, '[\\\\k<x>]')",
        "'hello'.gsub(/l/, '\\\\0\\\\0')",
        "'hello'.gsub(/l/, '\\\\\\\\')",
        "'hello'.gsub(/x/, 'y')",
        "'hello'.gsub(/(.)/) { $1.ord.to_s + ' ' }",
        "'hello'.gsub(//, '-')",
        "'hello'.gsub('', '-')",
        "'été'.gsub(/t/, 'é')",
        "'a.b.c'.gsub('.', '-')",
        "'a+b'.sub('+', '\\\\0\\\\0')",
        "'hello'.gsub(/l/).with_index.map { |m, i| \"#{m}#{i}\" }",
        "s = +'hello'; [s.sub!(/l/, 'L'), s]",
        "s = +'hello'; [s.gsub!(/l/, 'L'), s]",
        "s = +'hello'; [s.gsub!(/x/, 'L'), s]",
        "'hello'.gsub(/l/) { break 'out' }",
        "'hello'.gsub(/l/) { raise ArgumentError, 'in a block' }",
        "begin; 'hello'.freeze.gsub!(/l/, 'x'); rescue FrozenError => e; e.class; end",
        "'hello'.gsub",
        "'hello'.gsub(3, 'x')",
        "'a,b;c'.split(/[,;]/)",
        "'a1b2c3'.split(/(\\d)/)",
        "'abc'.split(//)",
        "'abc'.split('')",
        "'été'.split('')",
        "' a  b c '.split",
        "' a  b c '.split(' ')",
        "' a  b c '.split(/ /)",
        "'a,b,c'.split(',')",
        "'a,b,c'.split(',', 2)",
        "'a,b,c,,'.split(',')",
        "'a,b,c,,'.split(',', -1)",
        "'a,b,c'.split(/,/, 2)",
        "'a,b,c,,'.split(/,/, -1)",
        "',a'.split(/,/)",
        "''.split(/,/)",
        "''.split(',')",
        "'abc'.split(/b/, 1)",
        "'ab'.split(//, -1)",
        "'a b'.split(/\\s*/)",
        "'aXbXc'.split('X') { |x| x }",
        "'a  b'.split('  ')",
        "'hello'[/l+/]",
        "'hello'[/(h)(e)/, 2]",
        "'hello'[/(?<v>[aeiou])/, 'v']",
        "'hello'[/x/]",
        "'hello'[1]",
        "'hello'[1, 3]",
        "'hello'[1..]",
        "'hello'['ell']",
        "'hello'.slice(/l+/)",
        "'hello'.slice(1, 2)",
        "s = +'hello'; s[/l+/] = 'L'; s",
        "s = +'hello'; s[/(h)(e)/, 2] = 'E'; s",
        "s = +'hello'; s[/x/] = 'L'",
        "s = +'hello'; s[0] = 'J'; s",
        "s = +'hello'; s[1, 2] = ''; s",
        "s = +'hello'; [s.slice!(/l+/), s]",
        "s = +'hello'; [s.slice!(0), s]",
        "'hello'.index(/l/)",
        "'hello'.index(/l/, 3)",
        "'hello'.index('l', -2)",
        "'hello'.index(/x/)",
        "'étéa'.index(/a/)",
        "'hello'.rindex(/l/)",
        "'hello'.rindex(/l/, 2)",
        "'hello'.rindex('l')",
        "'hello'.rindex(/l+/)",
        "'hello'.start_with?(/h(.)/)",
        "'hello'.start_with?(/e/)",
        "'hello'.start_with?('he', 'x')",
        "'hello'.start_with?('x')",
        "'hello'.start_with?(3)",
        "'hello'.partition(/l+/)",
        "'hello'.partition('l')",
        "'hello'.partition(/x/)",
        "'hello'.rpartition(/l/)",
        "'hello'.rpartition('l')",
        "'hello'.rpartition(/x/)",
        "'a-b_c'.tr('-_', '  ')",
        "\"a\\nb\\n\".each_line.to_a",
        "'Hello World'.gsub(/[A-Z]/) { |c| '_' + c.downcase }",
        "'hello_world'.gsub(/_(.)/) { $1.upcase }",
        "'2026-11-21'.match(/(\\d+)-(\\d+)-(\\d+)/).captures.map(&:to_i)",
        "'a=1&b=2'.split('&').map { |p| p.split('=', 2) }",
        "'%41%42'.gsub(/%(\\h\\h)/) { $1.hex.chr }",
        "'  lead'.sub(/\\A\\s+/, '')",
        "\"a\\n\".gsub(/^/, '> ')",
        "\"a\\nb\\n\".gsub(/^/, '> ')",
        "\"a\\nb\".gsub(/$/, '!')",
        "'1234567'.gsub(/(\\d)(?=(\\d{3})+$)/, '\\\\1,')",
        "'CamelCaseString'.gsub(/([a-z])([A-Z])/, '\\\\1_\\\\2').downcase",
    ]);
}

#[test]
fn encodings() {
    need!("ruby");
    compare(&[
        "'é'.encoding.to_s",
        "'é'.encoding == Encoding::UTF_8",
        "'é'.valid_encoding?",
        "\"\\xff\".valid_encoding?",
        "\"a\\xffb\".scrub",
        "\"a\\xffb\".scrub('?')",
        "\"a\\xffb\".scrub { |bytes| '<' + bytes.unpack1('H*') + '>' }",
        "'é'.encode('ISO-8859-1').bytes",
        "'é日'.encode('ISO-8859-1', undef: :replace).bytes",
        "'é'.encode('US-ASCII', undef: :replace, replace: '!')",
        "'日'.encode('ISO-8859-1')",
        "begin; \"\\xff\".encode('UTF-16LE'); rescue Encoding::InvalidByteSequenceError => e; e.class; end",
        "'é'.encode('UTF-16BE').bytes",
        "\"caf\\xe9\".encode('UTF-8', 'ISO-8859-1')",
        "\"caf\\xe9\".force_encoding('ISO-8859-1').is_a?(String)",
        "'x'.force_encoding('nonsense')",
        "Encoding::UTF_8.name",
        "Encoding.default_external.name",
        "Encoding.find('utf-8').name",
        "'<a>'.encode(xml: :text)",
        "'<\"a\">'.encode(xml: :attr)",
        "'abc'.unpack1('H*')",
        "'é'.b.bytes",
        "'é'.bytesize",
        "'abc'.ascii_only?",
        "'é'.ascii_only?",
    ]);
}

#[test]
fn json() {
    need!("ruby");
    compare(&[
        "JSON.parse('{\"a\":[1,2.5,null,true,\"x\"]}')",
        "JSON.parse('{\"a\":{\"b\":1}}', symbolize_names: true)",
        "JSON.parse('{\"a\":1}', { symbolize_names: true })",
        "JSON.parse('[NaN]', allow_nan: true).first.nan?",
        "JSON.parse('[[[1]]]', max_nesting: 2)",
        "JSON.parse('9223372036854775807')",
        "begin; JSON.parse('{'); rescue JSON::ParserError => e; e.class; end",
        "JSON::ParserError.ancestors.include?(JSON::JSONError)",
        "JSON::NestingError.superclass",
        "JSON.parse('2')",
        "begin; JSON.parse(nil); rescue TypeError => e; e.class; end",
        "JSON.generate({ 'a' => [1, 2.5, nil, true, 'x'], b: :sym, 3 => {} })",
        "JSON.generate([])",
        "JSON.generate('é\"\\n')",
        "JSON.generate(nil)",
        "JSON.generate(1.0)",
        "JSON.generate(1e20)",
        "begin; JSON.generate(Float::NAN); rescue JSON::GeneratorError => e; e.class; end",
        "begin; JSON.generate(-Float::INFINITY); rescue JSON::GeneratorError => e; e.class; end",
        "JSON.generate([Float::NAN], allow_nan: true)",
        "begin; JSON.generate(\"\\xff\"); rescue JSON::GeneratorError => e; e.class; end",
        "JSON.pretty_generate({ 'a' => [1, { 'b' => [nil] }], 'c' => { 'd' => '' } })",
        "JSON.generate([1, 2], array_nl: \"\\n\")",
        "JSON.generate({ 'a' => 1 }, space: ' ', object_nl: ' ')",
        "{ 'a' => 1 }.to_json",
        "[1, 'x', nil].to_json",
        "'x'.to_json",
        ":x.to_json",
        "nil.to_json",
        "1.5.to_json",
        "c = Class.new { def to_json(*a) = { 'own' => 1 }.to_json(*a) }; JSON.generate([c.new])",
        "c = Class.new { def to_json(*a) = { 'own' => [1] }.to_json(*a) }; JSON.pretty_generate({ 'x' => c.new })",
        "c = Class.new { def to_s = 'text' }; JSON.generate([c.new])",
        "c = Class.new { def to_h = { a: 1 } }; JSON.generate(c.new.to_h)",
        "JSON.generate({ 1 => 2, nil => 3, :a => 4 })",
        "a = []; a << a; begin; JSON.generate(a); rescue JSON::NestingError => e; e.message; end",
        "JSON.dump({ 'a' => nil })",
        "JSON.load('[1]')",
        "JSON.load(nil)",
        "JSON.load('')",
        "JSON['[1]']",
        "JSON[[1]]",
        "JSON.generate('</script>', escape_slash: true)",
        "JSON.parse(JSON.generate({ 'k' => ['é', 1, -2.5e-10, nil, false] }))",
        "JSON.generate(1..3)",
        "Struct.new(:a).new(1).to_json.class",
        "h = { 'b' => 1, 'a' => 2 }; JSON.generate(h)",
        "begin; JSON.generate({ \"\\xff\" => 1 }); rescue => e; e.class; end",
    ]);
}

#[test]
fn times() {
    need!("ruby");
    compare(&[
        "Time.at(1763766123, 123456).utc.strftime('%Y-%m-%d %H:%M:%S.%L %z %A %-d %e %j')",
        "Time.at(0).utc.iso8601",
        "Time.at(0, 123456).utc.iso8601(3)",
        "Time.at(0).utc.xmlschema",
        "Time.at(1763766123).httpdate",
        "Time.at(1763766123).utc.rfc2822",
        "Time.at(0).utc.to_s",
        "Time.at(0).utc.inspect",
        "Time.at(0, 120000).utc.inspect",
        "Time.at(0).utc.ctime",
        "Time.at(0).utc.strftime('%')",
        "Time.parse('2026-11-21 12:34:56 UTC').to_i",
        "Time.parse('2026-11-21T12:34:56+09:00').to_i",
        "Time.iso8601('2026-11-21T12:34:56Z').to_i",
        "Time.iso8601('2026-11-21T12:34:56.25Z').usec",
        "Time.httpdate('Sat, 21 Nov 2026 12:34:56 GMT').to_i",
        "Time.rfc2822('Sat, 21 Nov 2026 12:34:56 +0900').to_i",
        "begin; Time.httpdate('x'); rescue ArgumentError => e; e.message; end",
        "begin; Time.iso8601('x'); rescue ArgumentError => e; e.message; end",
        "begin; Time.parse('x'); rescue ArgumentError => e; e.message; end",
        "Time.strptime('21/Nov/2026:12:34:56 +0000', '%d/%b/%Y:%H:%M:%S %z').to_i",
        "begin; Time.strptime('x', '%Y'); rescue ArgumentError => e; e.class; end",
        "Time.utc(2026, 11, 21, 1, 2, 3).strftime('%F %T')",
        "Time.utc(2026, 11, 21).utc_offset",
        "Time.at(0, 999999).utc.round.to_i",
        "Time.utc(2026, 1, 1) < Time.utc(2026, 1, 2)",
        "(Time.utc(2026, 1, 2) - Time.utc(2026, 1, 1)).to_i",
        "Time.utc(2026, 1, 2).monday?",
        "Time.utc(2026, 1, 2).yday",
        "Time.at(1.5).utc.usec",
        "Time.utc(2026, 1, 2).nsec",
        "Time.gm(2000).to_i",
        "Time.utc(2026, 1, 2).to_json",
    ]);
}

#[test]
fn digests_and_base64() {
    need!("ruby");
    compare(&[
        "Digest::SHA256.hexdigest('abc')",
        "Digest::MD5.hexdigest('')",
        "Digest::SHA1.base64digest('abc')",
        "Digest::SHA384.digest('abc').bytesize",
        "Digest::SHA512.new.update('a').update('bc').hexdigest == Digest::SHA512.hexdigest('abc')",
        "d = Digest::SHA256.new; d << 'a' << 'bc'; d.to_s",
        "d = Digest::SHA256.new; d << 'a'; [d.hexdigest, d.reset.hexdigest]",
        "d = Digest::SHA256.new << 'a'; e = d.dup; e << 'b'; [d.hexdigest, e.hexdigest]",
        "Digest::SHA2.new(512).hexdigest('abc')",
        "Digest::SHA256.new.digest_length",
        "Digest::SHA256.new.block_length",
        "Digest::MD5.new.inspect",
        "OpenSSL::HMAC.hexdigest('SHA256', 'key', 'text')",
        "OpenSSL::HMAC.hexdigest(OpenSSL::Digest.new('sha1'), 'key', 'text')",
        "OpenSSL::HMAC.digest('SHA512', 'k' * 200, 'text').bytesize",
        "OpenSSL::HMAC.base64digest('SHA256', 'key', 'text')",
        "h = OpenSSL::HMAC.new('key', 'SHA256'); h << 'te' << 'xt'; h.hexdigest",
        "OpenSSL::Digest::SHA256.hexdigest('abc')",
        "OpenSSL::Digest.new('SHA256').update('abc').hexdigest",
        "begin; OpenSSL::Digest.new('nonsense'); rescue StandardError => e; e.class; end",
        "OpenSSL::HMAC.hexdigest(OpenSSL::Digest::SHA1.new, 'key', 'text')",
        "[OpenSSL::Digest::SHA256.new('a').hexdigest, OpenSSL::Digest::SHA256.hexdigest('a'), OpenSSL::Digest::SHA512.new.name]",
        "OpenSSL.fixed_length_secure_compare('a', 'a')",
        "OpenSSL.fixed_length_secure_compare('a', 'b')",
        "OpenSSL.fixed_length_secure_compare('a', 'bc')",
        "OpenSSL.secure_compare('a', 'bc')",
        "Base64.encode64('a' * 50)",
        "Base64.strict_encode64('é')",
        "Base64.urlsafe_encode64('é?>', padding: false)",
        "Base64.decode64('w6k=').bytes",
        "Base64.strict_decode64('w6k')",
        "Base64.urlsafe_decode64('w6k_Pg').bytes",
        "SecureRandom.hex.size",
        "SecureRandom.hex(4).size",
        "SecureRandom.uuid =~ /\\A\\h{8}-\\h{4}-4\\h{3}-[89ab]\\h{3}-\\h{12}\\z/",
        "SecureRandom.random_bytes(5).bytesize",
        "SecureRandom.base64(3).size",
        "SecureRandom.urlsafe_base64.match?(/\\A[-\\w]+\\z/)",
        "SecureRandom.alphanumeric(12).match?(/\\A[a-zA-Z0-9]{12}\\z/)",
        "(0...10).cover?(SecureRandom.random_number(10))",
        "(5..6).cover?(SecureRandom.random_number(5..6))",
        "SecureRandom.random_number.class",
        "SecureRandom.hex(-1) rescue 'refused'",
    ]);
}

#[test]
fn uris_and_escapes() {
    need!("ruby");
    compare(&[
        "u = URI.parse('http://user:pw@example.com:8080/a?b=c#d'); [u.class, u.scheme, u.user, u.password, u.host, u.port, u.path, u.query, u.fragment, u.request_uri, u.to_s]",
        "URI.parse('https://example.com').port",
        "URI.parse('https://example.com').request_uri",
        "URI.parse('HTTP://example.com/').scheme",
        "URI('http://example.com/').host",
        "URI.parse('/a/b?c').path",
        "URI.parse('mailto:a@b.c').class",
        "URI.parse('mailto:a@b.c').opaque",
        "URI.parse('urn:isbn:1').opaque",
        "URI.parse('http://[::1]:3000/').hostname",
        "begin; URI.parse('http://a b'); rescue URI::InvalidURIError => e; e.class; end",
        "URI.join('http://a/b/c', '../d', 'e?f').to_s",
        "(URI.parse('http://a/b/') + 'c').to_s",
        "URI.parse('http://a:80/').to_s",
        "URI.parse('http://a:81/').to_s",
        "URI.parse('http://a') == URI.parse('http://a/')",
        "u = URI.parse('http://a/b'); u.path = '/c'; u.query = 'd=e'; u.to_s",
        "URI::HTTP.build(host: 'a', path: '/b', query: 'c').to_s",
        "URI.encode_www_form(a: 1, b: [2, 3], c: nil, 'd e' => 'é&')",
        "URI.encode_www_form([['a', 1], ['a', 2]])",
        "URI.decode_www_form('a=1&b=%20+&c')",
        "URI.encode_www_form_component('a b*~é')",
        "URI.decode_www_form_component('a+b%C3%A9')",
        "URI.decode_www_form_component('%zz')",
        "URI::DEFAULT_PARSER.escape('/a b/é')",
        "URI::DEFAULT_PARSER.unescape('%20+')",
        "URI.extract('see http://a.b/c and mailto:x@y ok')",
        "CGI.escape('a b*~é/')",
        "CGI.unescape('a+b%C3%A9%zz')",
        "CGI.escapeHTML(%q(<a href=\"x\">'&</a>))",
        "CGI.unescapeHTML('&lt;&amp;&quot;&#39;&#x41;&nbsp;')",
        "CGI.escape_html('<')",
    ]);
}

#[test]
fn env() {
    need!("ruby");
    compare(&[
        "ENV['PATH'] == ENV.fetch('PATH')",
        "ENV['SURELY_NOT_SET']",
        "ENV.fetch('SURELY_NOT_SET', 'x')",
        "ENV.fetch('SURELY_NOT_SET') { |name| name }",
        "begin; ENV.fetch('SURELY_NOT_SET'); rescue KeyError => e; e.message; end",
        "ENV.key?('PATH')",
        "ENV['A_NEW_ONE'] = 'x'; ENV['A_NEW_ONE']",
        "ENV['A_NEW_ONE'] ||= 'y'",
        "ENV.delete('A_NEW_ONE')",
        "ENV['A_NEW_ONE'] = 3",
        "ENV[:sym]",
        "ENV.to_h.class",
        "ENV['PATH'].frozen?",
    ]);
}

#[test]
fn a_scanner_walks_over_a_text() {
    need!("ruby");
    let head = "require 'strscan' rescue nil\ns = StringScanner.new('test string 42')\n";
    let snippets = [
        "[s.scan(/\\w+/), s.scan(/\\w+/), s.scan(/\\s+/), s.pos, s.rest, s.eos?]",
        "[s.check(/\\w+/), s.pos, s.match?(/\\w+/), s.skip(/\\w+/), s.pos]",
        "[s.scan_until(/str/), s.pos, s.pre_match, s.matched, s.post_match]",
        "[s.skip_until(/ /), s.getch, s.peek(3), s.bol?]",
        "[s.exist?(/s/), s.check_until(/r/), s.pos]",
        "s.scan(/(?<a>t)(e)/); [s[0], s[:a], s.matched_size]",
        "s.scan(/test/); s.unscan; s.pos",
        "s.terminate; [s.eos?, s.rest]",
        "s.pos = 5; s.scan(/\\Astr/)",
    ]
    .map(|snippet| format!("{head}{snippet}"));
    // Without `require` in the interpreter alone; it is the runtime's.
    let mut interpreter = interpreter();
    let theirs = ruby("INPUT.map { |snippet| eval(snippet).inspect }", &json!(snippets));
    for (snippet, expected) in snippets.iter().zip(theirs.as_array().unwrap()) {
        let ours = evaluate(&mut interpreter, &snippet.replace("require 'strscan' rescue nil\n", ""));
        assert_eq!(json!(ours), *expected, "{snippet}");
    }
}

#[test]
fn floats_are_shown_with_the_fewest_digits() {
    need!("ruby");
    compare(&[
        "0.1 + 0.2",
        "1e20",
        "1e-5",
        "100.0",
        "1.0 / 3",
        "-0.0",
        "1e15",
        "\"#{0.5}\"",
        "0.1.to_s",
        "Float::INFINITY",
        "[1.5]",
    ]);
}

#[test]
fn parts_are_loaded_when_they_are_required_or_missed() {
    let mut interpreter = interpreter();
    assert_eq!(
        evaluate(&mut interpreter, "[Object.const_defined?(:JSON), Object.const_defined?(:URI)]"),
        "[false, false]"
    );
    assert_eq!(
        evaluate(
            &mut interpreter,
            "[FoolsGold::Native.require_feature('json'), FoolsGold::Native.require_feature('json.rb')]"
        ),
        "[true, false]"
    );
    assert_eq!(
        evaluate(
            &mut interpreter,
            "[FoolsGold::Native.require_feature('time'), FoolsGold::Native.require_feature('none')]"
        ),
        "[false, nil]"
    );
    assert_eq!(evaluate(&mut interpreter, "module Inside; def self.x = URI.parse('/a').path; end; Inside.x"), "\"/a\"");
    assert_eq!(evaluate(&mut interpreter, "Nowhere"), "\"NameError: uninitialized constant Nowhere\"");
    assert!(crate::stdlib::features().any(|feature| feature == "digest/sha2"));
}

/// Methods of String over random patterns and texts.
#[test]
fn random_patterns_on_random_texts_do_what_they_do_in_cruby() {
    need!("ruby");
    let fragment = proptest::sample::select(vec![
        "a", "b", "é", ".", "^", "$", "\\w", "\\s", "[ab]", "[^a]", "(a|b)", "(a)?", "(?=a)", "a*", "b+", "(?i:A)",
        "b{2}", "\\A", "\\z", "|", ",", "\\b",
    ]);
    let pattern = proptest::collection::vec(fragment, 1..4).prop_map(|fragments| fragments.concat());
    let text = proptest::collection::vec(proptest::sample::select(vec!["a", "b", "é", " ", "\\n", ",", "A"]), 0..8)
        .prop_map(|parts| parts.concat());
    let method = proptest::sample::select(vec![
        "scan(re)",
        "split(re)",
        "split(re, -1)",
        "split(re, 2)",
        "gsub(re, '<\\\\0>')",
        "gsub(re) { |m| m + '|' }",
        "sub(re, '-')",
        "gsub(re, '')",
        "index(re)",
        "index(re, 2)",
        "index(re, -3)",
        "rindex(re)",
        "rindex(re, 2)",
        "partition(re)",
        "rpartition(re)",
        "match(re).inspect",
        "slice(re)",
        "start_with?(re)",
        "=~ re",
        "match?(re)",
        "gsub(re).to_a",
    ]);
    let mut runner = TestRunner::deterministic();
    let snippets: Vec<String> = (0..2000)
        .map(|_| (pattern.clone(), text.clone(), method.clone()).new_tree(&mut runner).unwrap().current())
        .map(|(pattern, text, method)| {
            let call = if method.starts_with('=') { format!(" {method}") } else { format!(".{method}") };
            // CRuby leaves other matches behind after these.
            let last = if ["split", "match?", "index", "rindex"].iter().any(|name| method.starts_with(name)) {
                "0"
            } else {
                "$~.to_a"
            };
            format!("re = Regexp.new('{}'); [\"{text}\"{call}, {last}]", pattern.replace("\\\\", "\\"))
        })
        .collect();
    compare(&snippets.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn conversions_and_small_gaps() {
    need!("ruby");
    compare(&[
        "Integer('x')",
        "Integer('')",
        "Integer('12', exception: false)",
        "Integer('x', exception: false)",
        "Integer(nil, exception: false)",
        "Integer(nil)",
        "Integer([1])",
        "Integer('z', 36)",
        "Integer('0x1f')",
        "Integer(12.9)",
        "Float('x')",
        "Float('1.5x')",
        "Float('x', exception: false)",
        "Float(nil)",
        "Float('1_000.5')",
        "Float('2.32')",
        "[2.32, 0.238, 4.534895, 1.23456789012345e+25]",
        "'héllo'.upcase",
        "'ÀÉß'.downcase",
        "'straße'.upcase",
        "'éA'.swapcase",
        "'éCOLE'.capitalize",
        "s = +'é'; [s.upcase!, s, s.upcase!]",
        "s = +'abc'; [s.capitalize!, s.downcase!, s.downcase!, s]",
        "\"a\\nb\\n\".each_line(chomp: true).to_a",
        "\"a\\r\\nb\".lines(chomp: true)",
        "\"a\\n\\nb\\n\\n\\nc\".lines('')",
        "\"a\\nb\".lines",
        "''.lines",
        "'a,b,c'.each_line(',').to_a",
        "'a,b,c'.each_line(',', chomp: true).to_a",
        "out = []; \"a\\nb\".each_line { |l| out << l }; out",
        "'abc'.sum",
        "Integer.sqrt(17)",
        "Integer.sqrt(10**18)",
        "rand(1..1)",
        "(1..3).cover?(rand(1..3))",
        "rand(1.0..2.0).class",
        "Random.rand(3).class",
        "3.integer?",
        "3.5.integer?",
        "[1, 1, 2, 3, 3].chunk { |x| x % 2 == 1 }.to_a",
        "[1, 2, 3, 4].slice_before { |x| x % 2 == 0 }.to_a",
        "[1, 2, 3, 4].slice_after(2).to_a",
        "S1 = Struct.new(:a, :b, keyword_init: true); [S1.new(a: 1, b: 2).to_a, S1.new(b: 3).a]",
        "begin; S1.new(c: 1); rescue ArgumentError => e; e.message; end",
        "S2 = Struct.new(:a, :b) do def both = [a, b] end; S2.new(1, 2).both",
        "class S3 < Struct.new(:a); def twice = a * 2; end; S3.new(4).twice",
        "[1, 2].zip([3, 4], [5, 6])",
    ]);
}

#[test]
fn causes_of_exceptions() {
    need!("ruby");
    compare(&[
        "begin; begin; raise 'a'; rescue; raise 'b'; end; rescue => e; [e.message, e.cause.message, e.cause.cause]; end",
        "begin; raise 'a'; rescue => e; e.cause; end",
        "begin; begin; raise 'a'; rescue => e; Integer('x'); end; rescue => f; [f.class, f.cause.message]; end",
        "begin; begin; nil.none; rescue NoMethodError; {}.fetch(1); end; rescue => f; [f.class, f.cause.class, f.cause.cause]; end",
        "begin; begin; raise 'a'; ensure; raise 'b'; end; rescue => e; [e.message, e.cause&.message]; end",
        "begin; begin; 1; ensure; raise 'b'; end; rescue => e; e.cause; end",
        "begin; begin; raise 'a'; rescue; begin; 1; ensure; raise 'b'; end; end; rescue => e; e.cause.message; end",
        "begin; raise 'a'; rescue; end; begin; raise 'b'; rescue => e; e.cause; end",
        "begin; raise 'a'; rescue; 1; end; begin; raise; rescue => e; [e.class, e.cause]; end",
        "begin; begin; raise 'a'; rescue => e; raise; end; rescue => f; [f.equal?(e), f.cause]; end",
        "begin; begin; raise 'a'; rescue => e; raise e; end; rescue => f; [f.equal?(e), f.cause]; end",
        "begin; begin; raise 'a'; rescue => e; raise KeyError, 'b', cause: nil; end; rescue => f; [f.class, f.message, f.cause]; end",
        "c = KeyError.new('c'); begin; raise KeyError, 'b', cause: c; rescue => f; [f.class, f.message, f.cause.equal?(c)]; end",
        "c = KeyError.new('c'); begin; raise 'text', cause: c; rescue => f; [f.class, f.message, f.cause.message]; end",
        "c = KeyError.new('c'); begin; raise KeyError.new('k'), cause: c; rescue => f; [f.class, f.message, f.cause.message]; end",
        "begin; raise 'a', cause: 5; rescue TypeError => e; e.message; end",
        "begin; raise cause: nil; rescue ArgumentError => e; e.message; end",
        "class Keyed < StandardError; def initialize(text = 'd', code: 0); super(text); @code = code; end; attr_reader :code; end;          begin; raise Keyed.new('t', code: 4), cause: KeyError.new('c'); rescue => e; [e.message, e.code, e.cause.class]; end",
        "begin; raise KeyError, 'b', ['here:1'], cause: KeyError.new('c'); rescue => e; [e.message, e.backtrace, e.cause.message]; end",
        "begin; raise KeyError, 'b', ['here:1'], 4; rescue ArgumentError => e; e.message; end",
        "begin; raise KeyError, 'b', ['here:1']; rescue => e; [e.message, e.backtrace]; end",
        "def inner = raise('b'); begin; begin; raise 'a'; rescue; inner; end; rescue => e; e.cause.message; end",
        "def quiet; begin; raise 'x'; rescue; end; raise 'y'; end; begin; quiet; rescue => e; e.cause; end",
        "def quiet2; begin; raise 'x'; rescue; return 1; end; end; begin; quiet2; raise 'y'; rescue => e; e.cause; end",
        "[1].each { begin; raise 'x'; rescue; next; end }; begin; raise 'y'; rescue => e; e.cause; end",
        "[1].each { begin; raise 'x'; rescue; break; end }; begin; raise 'y'; rescue => e; e.cause; end",
        "n = 0; begin; n += 1; raise \"n#{n}\" if n < 3; n; rescue; retry; end",
        "n = 0; begin; begin; n += 1; raise \"n#{n}\"; rescue => e; retry if n < 3; raise 'end'; end; rescue => f; [f.message, f.cause.message, f.cause.cause]; end",
        "begin; begin; raise 'a'; rescue; [1].each { raise 'b' }; end; rescue => e; [e.message, e.cause.message]; end",
        "begin; begin; begin; raise 'a'; rescue; raise 'b'; end; rescue; raise 'c'; end; rescue => e; [e.message, e.cause.message, e.cause.cause.message, e.cause.cause.cause]; end",
        "a = RuntimeError.new('a'); begin; begin; raise 'b'; rescue; raise a; end; rescue; end; begin; begin; raise 'c'; rescue; raise a; end; rescue => e; e.cause.message; end",
        "a = RuntimeError.new('a'); begin; raise a; rescue; end; begin; begin; raise 'c'; rescue; raise a; end; rescue => e; e.cause&.message; end",
        "a = RuntimeError.new('a'); b = RuntimeError.new('b'); begin; raise a, cause: b; rescue; end; begin; raise b, cause: a; rescue ArgumentError => e; e.message; end",
        "a = RuntimeError.new('a'); begin; raise a, cause: a; rescue => e; e.cause; end",
        "begin; begin; raise 'a'; rescue; raise 'b'; end; rescue => e; f = e.exception('c'); [f.message, f.cause&.message]; end",
        "x = begin; raise 'a'; rescue => e; e.message + '!'; end; [x, e.message]",
        "x = begin; raise 'a'; rescue => e; [e.message, [1, 2].map { |i| i + 1 }]; ensure; 5; end; x",
        "x = (raise 'a' rescue 7); y = (Integer('z') rescue $!.class); [x, y]",
        "def m; yield; rescue KeyError, ArgumentError => e; \"m #{e.class}\"; else; 'else'; ensure; @e = 1; end; [m { raise KeyError }, m { 1 }, m { raise ArgumentError }]",
        "h = {}; begin; raise 'a'; rescue => h[:e]; end; h[:e].message",
        "def deep(n) = n.zero? ? raise('d') : deep(n - 1); begin; begin; raise 'a'; rescue; deep(50); end; rescue => e; e.cause.message; end",
        "l = nil; begin; raise 'a'; rescue; l = lambda { raise 'late' }; end; begin; l.call; rescue => e; e.cause; end",
        "begin; begin; raise 'a'; rescue; Fiber.new { raise 'f' }.resume; end; rescue => e; e.message; end",
        "def e1; begin; raise 'a'; rescue; yield; end; end; begin; e1 { raise 'b' }; rescue => e; e.cause.message; end",
        "begin; begin; raise 'a'; rescue; x = [1, 2, *[3, 4]].map { |v| v * 2 }; raise x.inspect; end; rescue => e; [e.message, e.cause.message]; end",
        "begin; begin; raise 'a'; rescue TypeError, *[IndexError]; 0; rescue *[KeyError, RuntimeError] => e; raise 'b'; end; rescue => e; [e.message, e.cause.message]; end",
        "class Own < StandardError; def initialize(a) = super(\"own #{a}\"); end; begin; begin; raise 'a'; rescue => e; raise Own.new(1); end; rescue => e; [e.message, e.cause.message]; end",
        "begin; begin; raise 'a'; rescue; raise 'b' rescue raise 'c'; end; rescue => e; [e.message, e.cause.message, e.cause.cause.message]; end",
        "begin; begin; catch(:t) { begin; throw :t; ensure; 1; end }; raise 'b'; end; rescue => e; e.cause; end",
    ]);
}
