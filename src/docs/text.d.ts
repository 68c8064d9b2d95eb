/** Pages, stylesheets and pictures are embedded as text: `import page from './x.md' with { type: 'text' }`. */
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
