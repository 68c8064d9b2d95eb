/** Our signatures are those of AWS's own signer and of an independent one, whatever stands in the address; a large body is hashed elsewhere, to the same. */

import { expect, test } from 'bun:test'
import { Sha256 } from '@aws-crypto/sha256-js'
import { SignatureV4 } from '@smithy/signature-v4'
import { AwsV4Signer } from 'aws4fetch'
import fc from 'fast-check'
import { awsProof } from '../../../src/upstream/doors/aws/proof.ts'
import { AwsSigner, amzDate, sha256 } from '../../../src/upstream/doors/aws/sign.ts'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const HOST = 'bedrock-runtime.us-east-1.amazonaws.com'

test('any path, query, body and token is signed as AWS’s own signer does', async () => {
  const smithy = (sessionToken: string | undefined) =>
    new SignatureV4({
      service: 'bedrock',
      region: 'us-east-1',
      credentials: { ...KEYS, ...(sessionToken && { sessionToken }) },
      sha256: Sha256,
    })
  const segment = fc.string({ unit: 'binary-ascii', maxLength: 12 }).map((text) => encodeURIComponent(text).replaceAll('%3A', ':'))
  const signer = new AwsSigner('us-east-1', 'bedrock')
  await fc.assert(
    fc.asyncProperty(
      fc.array(segment, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', 'beta=true', 'b=2&a=1'),
      fc.string(),
      fc.option(fc.stringMatching(/^[!-~]{1,30}$/), { nil: undefined }),
      fc.date({ min: new Date('2024-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
      async (segments, query, body, sessionToken, date) => {
        const path = `/${segments.filter((one) => one !== '' && !/^\.+$/.test(one)).join('/')}`
        const bytes = Buffer.from(body)
        const ours = signer.sign(
          {
            host: HOST,
            target: query === '' ? path : `${path}?${query}`,
            contentType: 'application/json',
            bodyHash: sha256(bytes),
            date: amzDate(date.getTime()),
          },
          { ...KEYS, sessionToken },
        )
        const headers = { host: HOST, 'content-type': 'application/json' }
        const asked = {
          method: 'POST',
          protocol: 'https:',
          hostname: HOST,
          path,
          query: Object.fromEntries(new URLSearchParams(query)),
          headers,
        }
        const theirs = await smithy(sessionToken).sign({ ...asked, body: bytes }, { signingDate: date })
        expect(ours['authorization']).toBe(theirs.headers['authorization'])
      },
    ),
  )
})

test('a second signer agrees', async () => {
  const target = '/model/arn:aws:bedrock%2Fx/invoke'
  const date = '20261126T215655Z'
  const bodyHash = sha256('{}')
  const ours = new AwsSigner('us-east-1', 'bedrock').sign(
    { host: HOST, target, contentType: 'application/json', bodyHash, date },
    { ...KEYS, sessionToken: undefined },
  )
  const theirs = await new AwsV4Signer({
    ...KEYS,
    url: `https://${HOST}${target}`,
    headers: { 'content-type': 'application/json', 'x-amz-content-sha256': bodyHash },
    body: '{}',
    service: 'bedrock',
    region: 'us-east-1',
    datetime: date,
    allHeaders: true,
  }).sign()
  expect(ours['authorization']).toBe(theirs.headers.get('authorization') ?? '')
})

test('a body of 64 KiB is proven at once, a larger one when it was hashed elsewhere, and each by its own hash', async () => {
  const proof = awsProof({ by: 'signature', region: 'r', service: 's', credentials: { ...KEYS, sessionToken: undefined } })
  const call = (...body: readonly Uint8Array[]) =>
    proof.prove?.({ host: HOST, target: '/', fields: { 'content-type': 'application/json' }, body })
  const small = new Uint8Array(64 * 1024).fill(7)
  expect(call(small)).toMatchObject({ 'x-amz-content-sha256': sha256(small) })
  const large = new Uint8Array(1024 * 1024 + 1).fill(8).subarray(1)
  const proven = call(large)
  expect(proven).toBeInstanceOf(Promise)
  expect(await proven).toMatchObject({ 'x-amz-content-sha256': sha256(large) })
})
