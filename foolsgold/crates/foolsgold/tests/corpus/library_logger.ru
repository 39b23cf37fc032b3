# Logger: levels, formats and blocks.
#> GET /
require "logger"
require "stringio"
def corpus_logger
  out = StringIO.new
  logger = Logger.new(out)
  logger.formatter = proc { |severity, _time, program, message| "#{severity}|#{program.inspect}|#{message}\n" }
  logger.info("info")
  logger.debug { "from a block" }
  logger.level = Logger::WARN
  logger.info("not written")
  logger.warn("warned")
  logger.progname = "prog"
  logger.error("failed")
  logger.add(Logger::FATAL, "fatal", "named")
  logger.unknown("unknown")
  logger << "raw\n"
  plain = StringIO.new
  Logger.new(plain, progname: "p").info("text")
  shape = plain.string
  [out.string, logger.info?, logger.error?, shape[0, 4], shape.end_with?(" -- p: text\n"), shape.size > 40]
end
lines = corpus_logger
run lambda { |_env| [200, { "content-type" => "text/plain" }, [lines.map { |line| line.is_a?(String) ? line : line.inspect }.join("\n")]] }
