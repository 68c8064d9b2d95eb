/**
 * A browser may name a language that is none (`en-US@posix`, where the system's locale is POSIX), and `Intl` throws at it. uPlot asks `Intl` for the browser's language
 * as it is loaded, so this is imported before it. The pages themselves write English.
 */

try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
}
