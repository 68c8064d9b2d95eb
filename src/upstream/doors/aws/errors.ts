/** The names of AWS's errors, which say more than their status. Rules: doors.md "Errors"; faults.md "Before the first byte". */

/** As which status each counts. What is not here counts by its own. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['ThrottlingException', 429],
  ['TooManyRequestsException', 429],
  ['ServiceQuotaExceededException', 429],
  ['ServiceUnavailableException', 503],
  ['ModelNotReadyException', 503],
  ['ModelTimeoutException', 504],
  ['ModelErrorException', 500],
  ['InternalServerException', 500],
  ['AccessDeniedException', 403],
  ['UnrecognizedClientException', 401],
  ['ExpiredTokenException', 401],
  ['InvalidSignatureException', 401],
  ['IncompleteSignatureException', 401],
  ['MissingAuthenticationTokenException', 401],
  ['SignatureDoesNotMatch', 401],
  ['ResourceNotFoundException', 404],
])

/** What AWS calls a mistake of the request, and is one of our configuration or our account. */
const OURS =
  /\bmodel identifier is invalid|\bon-demand throughput isn.t supported|\bOperation not allowed\b|\baccess to the model\b|\bsecurity token\b/i

/** `name`: of the field `x-amzn-errortype`, such as `ThrottlingException:http://…`. `text`: the body. */
export function awsErrorStatus(status: number, name: string, text: string): number {
  const [bare = ''] = name.split(':')
  if (status === 400 && OURS.test(text.slice(0, LOOKED_AT_LENGTH))) return 403
  return STATUSES.get(bare) ?? status
}

const LOOKED_AT_LENGTH = 1_000
