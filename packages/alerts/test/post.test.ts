import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { secretLines } from '@steeple/contracts'
import { assert, suite, type TempDir, tempDir } from '@steeple/testkit'
import { type Answer, post, type Resolve } from '../src/webhooks/post.ts'
import { signingSecrets } from '../src/webhooks/secret-file.ts'
import { signedHeaders } from '../src/webhooks/sign.ts'
import { type Target, targetsOf } from '../src/webhooks/target.ts'
import { type Receiver, SECRET, startReceiver } from './support/receiver.ts'

const posts = suite('alerts/post')
let folder: TempDir
let receiver: Receiver
posts.before(async () => {
  folder = await tempDir()
  receiver = await startReceiver()
})
posts.after(async () => {
  await receiver.close()
  await folder.remove()
})

function target(url: string, more: object = {}): Target {
  const [made] = targetsOf([{ url, secret_file: '/none', allow_private: true, ...more }])
  if (made === undefined) throw new Error('there is no target')
  return made
}

const message = { id: 'msg_1', body: '{"type":"alert.test"}' }
const headers = (): Readonly<Record<string, string>> => signedHeaders(message, [SECRET], Date.now())

async function send(
  to: Target,
  resolve?: Resolve,
  signal: AbortSignal = new AbortController().signal,
): Promise<Answer> {
  const request = { method: 'POST', url: to.url, headers: headers(), body: message.body } as const
  return await post(to, request, { signal, resolve })
}

async function refusal(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it was taken',
    (error: Error) => error.message,
  )
}

const at =
  (...all: readonly string[]): Resolve =>
  async () =>
    all.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

posts('sends a message that the library of the specification takes', async () => {
  const before = receiver.taken.length
  assert.is((await send(target(receiver.url))).status, 204)
  assert.is(receiver.taken.length, before + 1)
  assert.equal([receiver.taken.at(-1)?.id, receiver.taken.at(-1)?.body], [message.id, message.body])
  assert.is(receiver.forged, 0)
})

posts('connects to the address that was judged, whatever the name is answered with later', async () => {
  let asked = 0
  const rebinding: Resolve = async () => {
    asked += 1
    return [{ address: asked === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]
  }
  const url = `http://rebind.invalid:${receiver.port}/hook`
  const before = receiver.taken.length
  // The name does not exist: only what was judged can have been connected to.
  assert.is((await send(target(url), rebinding)).status, 204)
  assert.equal([asked, receiver.taken.length], [1, before + 1])
  assert.is(receiver.taken.at(-1)?.headers.host, `rebind.invalid:${receiver.port}`)
  assert.match(await refusal(send(target(url), rebinding)), /169\.254\.169\.254 is link-local/)
  assert.is(receiver.taken.length, before + 1)
})

posts('connects to no address that may not be, by name or by number, in any notation', async () => {
  const before = receiver.taken.length
  for (const address of ['169.254.169.254', '::ffff:169.254.169.254', 'fe80::1', '0.0.0.0'])
    for (const all of [[address], ['127.0.0.1', address], [address, '127.0.0.1']])
      assert.match(
        await refusal(send(target('http://x.invalid/'), at(...all))),
        /never connected to/,
        all.join(),
      )
  for (const host of [
    '169.254.169.254',
    '[::ffff:a9fe:a9fe]',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
  ])
    assert.match(await refusal(send(target(`http://${host}/latest/meta-data/`))), /never connected to/, host)
  const strict = { allow_private: false }
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '10.0.0.1', '100.64.0.1'])
    assert.match(await refusal(send(target(`https://${host}/`, strict))), /allow_private: true/, host)
  assert.match(await refusal(send(target('http://x.invalid/', strict), at('1.1.1.1'))), /use https:/)
  assert.match(await refusal(send(target('http://x.invalid/'), at())), /has no address/)
  assert.is(receiver.taken.length, before)
})

posts('follows no redirect, and hands over what the receiver asks for', async () => {
  receiver.headers = { location: 'http://169.254.169.254/', 'retry-after': '120' }
  try {
    for (const status of [301, 302, 307, 308] as const) {
      receiver.answer = status
      const before = receiver.taken.length
      assert.equal(await send(target(receiver.url)), { status, retryAfterMs: 120_000, text: '' })
      assert.is(receiver.taken.length, before + 1)
    }
  } finally {
    receiver.answer = 204
    receiver.headers = {}
  }
})

posts('gives up on a receiver that resets or never answers, and ends when it is told to', async () => {
  receiver.answer = 'reset'
  assert.match(await refusal(send(target(receiver.url))), /ECONNRESET|socket hang up/)
  receiver.answer = 'hang'
  assert.match(await refusal(send(target(receiver.url))), /did not answer within 10 s/)
  const never: Resolve = () => new Promise(() => undefined)
  const ends = new AbortController()
  const asking = refusal(send(target('http://x.invalid/'), never, ends.signal))
  ends.abort()
  assert.is.not(await asking, 'it was taken')
  receiver.answer = 204
})

posts('sends what a file says as Authorization', async () => {
  const file = join(folder.path, 'authorization')
  await writeFile(file, 'Bearer tk_abc\n', { mode: 0o600 })
  const secret_file = join(folder.path, 'signing')
  await writeFile(secret_file, SECRET, { mode: 0o600 })
  const to = target(receiver.url, { authorization_file: file, secret_file })
  const whole = async (): Promise<Answer> => {
    const outgoing = await to.outgoing(message, Date.now(), () => ({}))
    if (outgoing.by !== 'http') throw new Error('it is no request')
    return await post(to, outgoing.request, { signal: AbortSignal.timeout(60_000) })
  }
  assert.is((await whole()).status, 204)
  assert.is(receiver.taken.at(-1)?.headers.authorization, 'Bearer tk_abc')
  await writeFile(file, 'Bearer tk_\u0001')
  const said = await refusal(whole())
  assert.match(said, /holds no value of a header/)
  assert.not.ok(said.includes('tk_'))
})

posts('takes secrets from files that are its own alone, and signs with each of them', async () => {
  const path = join(folder.path, 'secrets')
  const other = `whsec_${Buffer.alloc(24, 9).toString('base64')}`
  await writeFile(path, `${SECRET}\n\n${other}\r\n`, { mode: 0o600 })
  const secrets = await signingSecrets(path)
  assert.equal(secrets, [SECRET, other])
  const signed = signedHeaders(message, secrets, Date.now())
  assert.match(signed['webhook-signature'], /^v1,\S+ v1,\S+$/)
  const late = await startReceiver(other)
  const request = { method: 'POST', url: new URL(late.url), headers: signed, body: message.body } as const
  assert.is((await post(target(late.url), request, { signal: AbortSignal.timeout(60_000) })).status, 204)
  assert.equal([late.taken.length, late.forged], [1, 0])
  await late.close()
  await chmod(path, 0o640)
  assert.match(await refusal(signingSecrets(path)), /can be read by others; chmod 600/)
  await chmod(path, 0o600)
  for (const text of ['geheim', 'whsec_', 'whsec_c2hvcnQ=', `whsec_${Buffer.alloc(65).toString('base64')}`]) {
    await writeFile(path, text)
    const said = await refusal(signingSecrets(path))
    assert.match(said, /is no secret of Standard Webhooks/)
    assert.not.ok(text !== 'whsec_' && said.includes(text))
  }
  await writeFile(path, '\n')
  assert.match(await refusal(secretLines(path)), /is empty/)
  await writeFile(path, 'x'.repeat(9_000))
  assert.match(await refusal(secretLines(path)), /larger than 8 KiB/)
  assert.match(await refusal(secretLines(join(folder.path, 'nothing'))), /cannot be read: ENOENT/)
  await mkdir(join(folder.path, 'dir'), { mode: 0o700 })
  assert.match(await refusal(secretLines(join(folder.path, 'dir'))), /is no plain file/)
  await symlink(path, join(folder.path, 'link'))
  assert.match(
    await refusal(secretLines(join(folder.path, 'link'))),
    /larger than 8 KiB/,
    'a link is as its file',
  )
})

posts('names receivers by their host when nobody has, and refuses two of one name', () => {
  assert.is(target('https://hooks.example.org/x').name, 'hooks.example.org')
  const both = ['https://a.example/1', 'https://a.example/2'].map((url) => ({ url, secret_file: '/x' }))
  assert.throws(() => targetsOf(both), /two are called a\.example/)
})

posts.run()
