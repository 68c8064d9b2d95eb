/** What the tests of imports look at, and the models and plans of the gateway into which they import. */

export const CONFIG = `
upstreams = [{ name = "main", base_url = "http://127.0.0.1:1", api_key_env = "KEY" }]
[[models]]
id = "small"
input = "1"
output = "2"
context_window = 200_000
max_output_tokens = 8_000
[[models]]
id = "large"
input = "3"
output = "6"
context_window = 200_000
max_output_tokens = 8_000
[plans.default]
models = ["*"]
[plans.cheap]
models = ["small"]
`

type Finding = Readonly<{ subject: string; brought: boolean; what: string }>
export type Document = Readonly<{
  applied: boolean
  already_here: number
  accounts: readonly Readonly<{
    source: string
    name: string
    credit_usd_exact: string
    budget: unknown
    keys: readonly Record<string, unknown>[]
  }>[]
  findings: readonly Finding[]
}>
