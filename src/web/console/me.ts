/** The operator who looks at the console. */

import { whoLooks } from '../parts/who-looks.ts'
import { api } from './api.ts'

export const { me, loadMe, signOut } = whoLooks('/console', () => api.me.get())
