# The environment is an unfrozen Hash, its keys are Strings, and names without a period have String values.
#> GET /?a=b
#+ X-Some: thing
#> POST /
#= body
run lambda { |env|
  lines = [
    env.instance_of?(Hash), env.frozen?, env.keys.all? { |key| key.is_a?(String) },
    env.reject { |key, _| key.include?(".") }.values.all? { |value| value.is_a?(String) },
    env["SERVER_PORT"] == env["SERVER_PORT"].to_i.to_s, env["SERVER_NAME"], env["rack.errors"].respond_to?(:write),
    env["rack.input"].respond_to?(:read)
  ]
  [200, { "content-type" => "text/plain" }, [lines.inspect]]
}
