/** What the console's pages ask, typed by the routes themselves. Cookies go along; nothing leaves for another host. */

import { treaty } from '@elysiajs/eden'
import type { ConsoleApp } from '../console-app.ts'

export const api = treaty<ConsoleApp>(location.origin).console.api
