/** Settings of the configuration file, each with what is wrong with it. Rules: pages.md "Catalog". */

export const NamedSettings = ({ rows }: Readonly<{ rows: readonly Readonly<{ path: string; message: string }>[] }>) => (
  <ul>
    {rows.map(({ path, message }) => (
      <li key={`${path} ${message}`}>
        {path !== '' && <code>{path}</code>} {message}
      </li>
    ))}
  </ul>
)
