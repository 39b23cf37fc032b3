# Bugs of mruby 3.2.0 fixed.

# An object that occurs twice in an Array or a Hash was shown as "[...]" the second time, as if it contained itself.
[Array, Hash, Struct, Set].each do |owner|
  owner.class_eval do
    alias_method :inspect_once, :_inspect

    def _inspect(seen)
      return inspect_once(seen) if seen[object_id]
      text = inspect_once(seen)
      seen.delete(object_id)
      text
    end
  end
end

# A character range ("0-9") missed its last character in delete, count and squeeze; `tr` handles it correctly.
class String
  alias delete_between delete
  alias count_between count
  alias squeeze_between squeeze

  def delete(*sets)
    sets.size == 1 ? tr(sets[0], "") : delete_between(*sets)
  end

  def delete!(*sets)
    text = delete(*sets)
    text == self ? nil : replace(text)
  end

  def count(*sets)
    sets.size == 1 ? size - tr(sets[0], "").size : count_between(*sets)
  end

  def squeeze(*sets)
    return squeeze_between(*sets) unless sets.size == 1
    result = +""
    last = nil
    each_char do |char|
      result << char unless char == last && char.tr(sets[0], "").empty?
      last = char
    end
    result
  end

  def squeeze!(*sets)
    text = squeeze(*sets)
    text == self ? nil : replace(text)
  end
end
