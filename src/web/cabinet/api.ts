/** The requests of the cabinet's pages, typed by the routes themselves. They carry cookies and go to no other host. Times stay texts. */

import { treaty } from '@elysiajs/eden'
import type { CabinetApp } from '../cabinet-app.ts'

export const api = treaty<CabinetApp>(location.origin, { parseDate: false }).cabinet.api
