/**
 * A browser may name a language that `Intl` refuses (`en-US@posix`, where the system's locale is POSIX), so that `Intl` throws. uPlot asks `Intl` for the browser's language
 * as it is loaded, so this file is imported before uPlot. The pages themselves write English.
 */

try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
}
