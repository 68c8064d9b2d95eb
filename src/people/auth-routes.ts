/** The routes of better-auth that pages use; its other routes do not exist. Rules: pages.md "Sign-in routes". */

/** Methods, and paths behind the root. */
const AUTH_ROUTES: ReadonlySet<string> = new Set([
  'POST /sign-in/email',
  'POST /sign-out',
  'POST /change-password',
  'POST /request-password-reset',
  'POST /reset-password',
  'GET /passkey/generate-register-options',
  'POST /passkey/verify-registration',
  'GET /passkey/generate-authenticate-options',
  'POST /passkey/verify-authentication',
  'GET /passkey/list-user-passkeys',
  'POST /passkey/delete-passkey',
  'POST /passkey/update-passkey',
])

export const isAuthRoute = (method: string, path: string): boolean => AUTH_ROUTES.has(`${method} ${path}`)
