-- Walks over the paths of BENCH_PATHS (one a line in a file) with BENCH_METHOD, the token (or the path's own line in the
-- file BENCH_TOKENS) and, where there is one, the body of BENCH_BODY, in which %d becomes a number of its own, or the bodies of BENCH_BODIES (one a line in a file). Prints one line of figures at the end.
local method, token, body = os.getenv("BENCH_METHOD"), os.getenv("BENCH_TOKEN"), os.getenv("BENCH_BODY")
local headers = { ["Authorization"] = "Bearer " .. token, ["Host"] = "127.0.0.1" }
local paths, made, i = {}, {}, 0

function init(args)
  local bodies, tokens = os.getenv("BENCH_BODIES"), os.getenv("BENCH_TOKENS")
  local next_token = tokens and io.lines(tokens)
  if body or bodies then headers["Content-Type"] = "application/json" end
  for path in io.lines(os.getenv("BENCH_PATHS")) do
    paths[#paths + 1] = path
    if next_token then headers["Authorization"] = "Bearer " .. next_token() end
    if not bodies then made[#made + 1] = wrk.format(method, path, headers, body) end
  end
  if not bodies then return end
  for line in io.lines(bodies) do
    made[#made + 1] = wrk.format(method, paths[1], headers, line)
  end
end

function request()
  i = i + 1
  if not body then return made[(i - 1) % #made + 1] end
  local at = (i - 1) % #paths + 1
  return wrk.format(method, paths[at], headers, (body:gsub("%%d", tostring(i))))
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), latency.max, e.connect + e.read + e.write + e.status + e.timeout))
end
