# Evaluates cases of numbers; CRuby and the interpreter run this same file. A case is a line: the operation, its
# argument and its values, separated by tabs. Floats are given as the hexadecimal digits of their bytes, so that no
# parser is involved.

def float_of(digits) = [digits].pack("H*").unpack("G")[0]

def value_of(text)
  case text[0]
  when "f" then float_of(text[1..-1])
  when "i" then text[1..-1].to_i
  else text[1..-1]
  end
end

def compare(one, other) = [one == other, one <=> other, one < other, one <= other, one > other, one >= other, other == one]

def evaluate(kind, argument, values)
  value = values[0]
  case kind
  when "format" then format(argument, *values)
  when "percent" then argument % values
  when "named" then format(argument, a: value)
  when "round" then value.round(argument.to_i)
  when "up", "down", "even" then value.round(argument.to_i, half: kind.to_sym)
  when "floor" then value.floor(argument.to_i)
  when "ceil" then value.ceil(argument.to_i)
  when "truncate" then value.truncate(argument.to_i)
  when "to_i" then [value.to_i, value.round, value.floor, value.ceil]
  when "to_s" then value.to_s
  when "to_f" then value.to_f
  when "Float" then Float(value)
  # CRuby's div truncates Integers beyond 62 bits, contrary to its documentation: they are left out.
  when "divmod" then [value.divmod(values[1]), value % values[1], value.is_a?(Float) ? value.div(values[1]) : nil]
  when "modulo" then value % values[1]
  when "sum" then [values.sum, values.sum(0.0), values.each.sum, values.sum { |one| one / 2 }]
  when "compare" then compare(value, values[1])
  end
end

# If CRuby returns an Integer of more than 64 bits, the interpreter raises a RangeError.
def shown(value)
  case value
  when Integer then value.respond_to?(:bit_length) && value.bit_length > 63 ? raise(RangeError) : value.to_s
  when Array then value.map { |one| shown(one) }.inspect
  else value.inspect
  end
end

def answer(line)
  kind, argument, *values = line.split("\t", -1)
  shown(evaluate(kind, argument, values.map { |text| value_of(text) }))
rescue FloatDomainError, ArgumentError, ZeroDivisionError, TypeError => error
  "#{error.class}: #{error.message}"
rescue RangeError
  "beyond 64 bits"
end
