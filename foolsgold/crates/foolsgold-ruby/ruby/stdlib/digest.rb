# Digest, OpenSSL::HMAC, Base64 and SecureRandom over natives. An unfinished digest keeps its input: it has no state
# outside Ruby's heap.

module Digest
  class Instance
    def initialize = @text = +""
    def initialize_copy(other) = @text = other.instance_variable_get(:@text).dup

    def update(text)
      @text << text
      self
    end
    alias << update

    def reset
      @text = +""
      self
    end

    def digest(text = nil) = FoolsGold::Native.digest(algorithm, text || @text)
    def hexdigest(text = nil) = FoolsGold::Native.hexdigest(algorithm, text || @text)
    def base64digest(text = nil) = FoolsGold::Native.base64(digest(text))

    def digest!
      value = digest
      reset
      value
    end

    def hexdigest!
      value = hexdigest
      reset
      value
    end

    def to_s = hexdigest
    def inspect = "#<#{self.class}: #{hexdigest}>"
    def digest_length = digest("").bytesize
    alias length digest_length
    alias size digest_length
    def block_length = algorithm == "SHA384" || algorithm == "SHA512" ? 128 : 64
    def name = "Digest::#{algorithm}"
    def ==(other) = hexdigest == (other.is_a?(Instance) ? other.hexdigest : other)

    def file(path)
      update(File.read(path))
    end
  end

  class Base < Instance
    class << self
      def digest(text) = FoolsGold::Native.digest(self::ALGORITHM, text)
      def hexdigest(text) = FoolsGold::Native.hexdigest(self::ALGORITHM, text)
      def base64digest(text) = FoolsGold::Native.base64(digest(text))
      def file(path) = new.file(path)
    end

    def algorithm = self.class::ALGORITHM
  end

  class MD5 < Base
    ALGORITHM = "MD5"
  end

  class SHA1 < Base
    ALGORITHM = "SHA1"
  end

  class SHA256 < Base
    ALGORITHM = "SHA256"
  end

  class SHA384 < Base
    ALGORITHM = "SHA384"
  end

  class SHA512 < Base
    ALGORITHM = "SHA512"
  end

  class SHA2 < Instance
    def initialize(bits = 256)
      super()
      raise ArgumentError, "unsupported bit length: #{bits.inspect}" unless [256, 384, 512].include?(bits)
      @bits = bits
    end

    def algorithm = "SHA#{@bits}"
  end

  def self.hexencode(text) = FoolsGold::Native.hex(text)
end

module OpenSSL
  class OpenSSLError < StandardError; end

  class Digest < ::Digest::Instance
    attr_reader :algorithm

    def initialize(name, text = nil)
      super()
      @algorithm = name.to_s.upcase.delete("-")
      FoolsGold::Native.digest(@algorithm, "")
      update(text) if text
    end

    def name = @algorithm

    class << self
      def digest(name, text) = FoolsGold::Native.digest(name, text)
      def hexdigest(name, text) = FoolsGold::Native.hexdigest(name, text)
      def base64digest(name, text) = FoolsGold::Native.base64(digest(name, text))
    end

    # Digests with a class of their own.
    class Named < self
      def initialize(text = nil) = super(self.class::ALGORITHM, text)

      class << self
        def digest(text) = FoolsGold::Native.digest(self::ALGORITHM, text)
        def hexdigest(text) = FoolsGold::Native.hexdigest(self::ALGORITHM, text)
        def base64digest(text) = FoolsGold::Native.base64(digest(text))
      end
    end

    class MD5 < Named
      ALGORITHM = "MD5"
    end

    class SHA1 < Named
      ALGORITHM = "SHA1"
    end

    class SHA256 < Named
      ALGORITHM = "SHA256"
    end

    class SHA384 < Named
      ALGORITHM = "SHA384"
    end

    class SHA512 < Named
      ALGORITHM = "SHA512"
    end
  end

  class HMAC
    class << self
      def digest(digest, key, text) = FoolsGold::Native.hmac(__name(digest), key, text)
      def hexdigest(digest, key, text) = FoolsGold::Native.hex(digest(digest, key, text))
      def base64digest(digest, key, text) = FoolsGold::Native.base64(digest(digest, key, text))
      def __name(digest) = digest.is_a?(::Digest::Instance) ? digest.algorithm : digest.to_s
    end

    def initialize(key, digest)
      @key = key
      @digest = HMAC.__name(digest)
      @text = +""
    end

    def update(text)
      @text << text
      self
    end
    alias << update

    def digest = HMAC.digest(@digest, @key, @text)
    def hexdigest = HMAC.hexdigest(@digest, @key, @text)
    def base64digest = HMAC.base64digest(@digest, @key, @text)
    alias to_s hexdigest
  end

  class << self
    def fixed_length_secure_compare(one, other)
      raise ArgumentError, "inputs must be of equal length" unless one.bytesize == other.bytesize
      FoolsGold::Native.secure_compare(one, other)
    end

    def secure_compare(one, other)
      FoolsGold::Native.secure_compare(::Digest::SHA256.digest(one), ::Digest::SHA256.digest(other)) && one == other
    end
  end
end

module Base64
  class << self
    def encode64(text) = FoolsGold::Native.base64_lines(text)
    def decode64(text) = FoolsGold::Native.base64_decode(text)
    def strict_encode64(text) = FoolsGold::Native.base64(text)
    def strict_decode64(text) = FoolsGold::Native.base64_decode_strict(text)
    def urlsafe_decode64(text) = FoolsGold::Native.base64_url_decode(text)

    def urlsafe_encode64(text, padding: true)
      coded = FoolsGold::Native.base64_url(text)
      padding ? coded : coded.delete("=")
    end
  end
end

module SecureRandom
  class << self
    def bytes(count = nil) = FoolsGold::Native.random_bytes(count)
    alias random_bytes bytes
    def hex(count = nil) = FoolsGold::Native.hex(bytes(count))
    def base64(count = nil) = FoolsGold::Native.base64(bytes(count))

    def urlsafe_base64(count = nil, padding = false)
      Base64.urlsafe_encode64(bytes(count), padding: padding)
    end

    def uuid = FoolsGold::Native.uuid
    def alphanumeric(count = nil) = FoolsGold::Native.alphanumeric(count)

    def random_number(limit = 0)
      case limit
      when Range
        last = limit.last
        return limit.first + FoolsGold::Native.random_float * (last - limit.first) if last.is_a?(Float) || limit.first.is_a?(Float)
        last -= 1 if limit.exclude_end?
        limit.first + FoolsGold::Native.random_below(last - limit.first + 1)
      when Float
        limit > 0 ? FoolsGold::Native.random_float * limit : FoolsGold::Native.random_float
      else
        limit && limit > 0 ? FoolsGold::Native.random_below(limit) : FoolsGold::Native.random_float
      end
    end
    alias rand random_number
    alias random_float random_number
  end
end
