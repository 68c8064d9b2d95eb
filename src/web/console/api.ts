/** The requests of the console's pages, typed by the routes themselves. They carry cookies and go to no other host. Days and times stay the texts that the types say. */

import { treaty } from '@elysiajs/eden'
import type { ConsoleApp } from '../console-app.ts'

export const api = treaty<ConsoleApp>(location.origin, { parseDate: false }).console.api
