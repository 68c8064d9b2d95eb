/** Certificates made on the spot (https://www.rfc-editor.org/rfc/rfc5280#section-4.1): an authority of the test's own, and servers that it vouches for, rightly or not. */

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

export type Certificate = Readonly<{ cert: string; key: string }>
export type Authority = Readonly<{ pem: string; issue(names: readonly string[], valid?: Validity): Certificate }>
/** Days from today. */
type Validity = Readonly<{ fromDays: number; toDays: number }>

const NOW: Validity = { fromDays: -1, toDays: 2 }

export function makeAuthority(name: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const constraints = extension([0x55, 0x1d, 0x13], der(0x30, der(0x01, Buffer.from([0xff]))))
  return {
    pem: certificateOf({
      issuer: name,
      subject: name,
      publicKey: keys.publicKey,
      signedBy: keys.privateKey,
      extra: constraints,
      valid: NOW,
    }),
    issue(names, valid = NOW) {
      const server = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      const parts = {
        issuer: name,
        subject: 'server',
        publicKey: server.publicKey,
        signedBy: keys.privateKey,
        extra: namesOf(names),
        valid,
      }
      return { cert: certificateOf(parts), key: pemOf(server.privateKey) }
    },
  }
}

export function makeSelfSigned(names: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const parts = { issuer: 'server', subject: 'server', publicKey, signedBy: privateKey, extra: namesOf(names), valid: NOW }
  return { cert: certificateOf(parts), key: pemOf(privateKey) }
}

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

type Parts = Readonly<{ issuer: string; subject: string; publicKey: KeyObject; signedBy: KeyObject; extra: Buffer; valid: Validity }>

function certificateOf({ issuer, subject, publicKey, signedBy, extra, valid }: Parts): string {
  const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02])))
  const tbs = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    nameOf(issuer),
    der(0x30, timeOf(valid.fromDays), timeOf(valid.toDays)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, extra)),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', tbs, signedBy))
  const base64 = der(0x30, tbs, ecdsaWithSha256, signature).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${base64.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`
}

const nameOf = (name: string): Buffer =>
  der(0x30, der(0x31, der(0x30, der(0x06, Buffer.from([0x55, 0x04, 0x03])), der(0x0c, Buffer.from(name)))))

const namesOf = (names: readonly string[]): Buffer =>
  extension(
    [0x55, 0x1d, 0x11],
    der(0x30, ...names.map((name) => (isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))))),
  )

const extension = (id: readonly number[], value: Buffer): Buffer => der(0x30, der(0x06, Buffer.from(id)), der(0x04, value))

const timeOf = (days: number): Buffer => {
  const iso = new Date(Date.now() + days * 86_400_000).toISOString()
  return der(0x17, Buffer.from(`${iso.slice(2, 19).replaceAll(/[-T:]/g, '')}Z`))
}

/** Tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
