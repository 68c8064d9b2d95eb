/** Pages, stylesheets and drawings are embedded as text: `import page from './x.md' with { type: 'text' }`. */
declare module '*.md' {
  const text: string
  export = text
}
declare module '*.css' {
  const text: string
  export = text
}
declare module '*.svg' {
  const text: string
  export = text
}
/** Pictures are embedded as files: `import path from './x.webp' with { type: 'file' }`. */
declare module '*.webp' {
  const path: string
  export = path
}
