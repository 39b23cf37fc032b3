# Rack::MediaType: the type and the parameters of a content-type field.

module Rack
  class MediaType
    def self.type(content_type)
      return nil if content_type.nil? || content_type.empty?
      type = content_type
      [";", ","].each do |mark|
        at = type.index(mark)
        type = type[0, at] if at
      end
      type.strip.downcase
    end

    def self.params(content_type)
      return {} if content_type.nil? || content_type.empty?
      content_type.split(";").drop(1).each_with_object({}) do |part, params|
        name, value = part.strip.split("=", 2)
        params[name.downcase] = unquoted(value || "") if name
      end
    end

    # How many times a parameter occurs.
    def self.count(content_type, wanted)
      content_type.to_s.split(";").drop(1).count { |part| part.split("=", 2)[0].to_s.strip.downcase == wanted }
    end

    def self.unquoted(value)
      value.size > 1 && value.start_with?('"') && value.end_with?('"') ? value[1, value.size - 2] : value
    end
  end
end
