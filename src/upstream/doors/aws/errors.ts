/** The names of AWS's errors, which say more than their status. Rules: doors.md "Errors"; faults.md "Before the first byte". */

/** The status as which each error counts. An error that is not listed counts by its own status. */
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

/** Texts of errors that AWS calls a mistake of the request, though our configuration or our account is wrong. */
const OURS =
  /\bmodel identifier is invalid|\bon-demand throughput isn.t supported|\bOperation not allowed\b|\baccess to the model\b|\bsecurity token\b/i

/** The status as which an error counts. `name`: of the field `x-amzn-errortype`, such as `ThrottlingException:http://…`. `text`: the body. */
export function awsErrorStatus(status: number, name: string, text: string): number {
  const [bare = ''] = name.split(':')
  if (status === 400 && OURS.test(text.slice(0, LOOKED_AT_LENGTH))) return 403
  return STATUSES.get(bare) ?? status
}

const LOOKED_AT_LENGTH = 1_000
