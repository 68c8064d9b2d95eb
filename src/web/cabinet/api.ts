/** What the cabinet's pages ask, typed by the routes themselves. Cookies go along; nothing leaves for another host. Times stay texts. */

import { treaty } from '@elysiajs/eden'
import type { CabinetApp } from '../cabinet-app.ts'

export const api = treaty<CabinetApp>(location.origin, { parseDate: false }).cabinet.api
