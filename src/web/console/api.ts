/** The requests of the console's pages, typed by the routes themselves. They carry cookies and go to no other host. */

import { treaty } from '@elysiajs/eden'
import type { ConsoleApp } from '../console-app.ts'

export const api = treaty<ConsoleApp>(location.origin).console.api
