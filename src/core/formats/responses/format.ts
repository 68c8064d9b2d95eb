/** The responses format. Rules: contract.md "Endpoints". */

import type { Format } from '../../format.ts'
import { readRequest } from './request.ts'
import { finishedResponse, respond } from './response.ts'
import { ResponsesTranscoder } from './stream.ts'
import type { ResponsesEcho } from './wire.ts'

export const responsesFormat: Format<ResponsesEcho> = {
  name: 'responses',
  read: readRequest,
  respond,
  transcoder: (call, stamp) => new ResponsesTranscoder(call, stamp),
  finished: finishedResponse,
  apart: (echo) => ({ echo: echo.remembered === undefined ? echo : { ...echo, remembered: [] }, input: echo.remembered ?? [] }),
}
