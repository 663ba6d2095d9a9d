import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { assert, listen, suite, tempDir } from '@steeple/testkit'
import { post, sendMail } from '../src/webhooks/post.ts'
import { type Target, targetsOf } from '../src/webhooks/target.ts'
import { KNOWN, startMailServer } from './support/services.ts'

const tls = suite('alerts/post-tls')

async function send(url: string, more: object = {}): Promise<string> {
  const [target] = targetsOf([{ url, secret_file: '/none', allow_private: true, ...more }])
  if (target === undefined) throw new Error('there is no target')
  const options = {
    signal: new AbortController().signal,
    resolve: async () => [{ address: '127.0.0.1', family: 4 }] as const,
  }
  const request = { method: 'POST', url: target.url, headers: {}, body: '{}' } as const
  return await post(target, request, options).then(
    ({ status }) => String(status),
    (error: Error) => error.message,
  )
}

tls('believes a receiver by its certificate alone', async () => {
  await using folder = await tempDir()
  const files = await certificates(folder.path)
  const seen: string[] = []
  const server = createServer({ key: files.key, cert: files.cert }, (request, response) => {
    seen.push(request.url ?? '')
    request.resume()
    response.writeHead(200).end('x'.repeat(1_000_000))
  })
  const { port, close } = await listen(server)
  try {
    const ca_file = join(folder.path, 'ca.pem')
    const url = `https://hooks.example.org:${port}/x`
    assert.match(await send(url), /unable to verify|self.signed certificate/)
    assert.match(await send(`https://other.example.org:${port}/`, { ca_file }), /does not match/)
    assert.match(await send(`https://127.0.0.1:${port}/`, { ca_file }), /does not match/)
    assert.equal(seen, [])
    assert.is(await send(url, { ca_file }), '200')
    assert.equal(seen, ['/x'])
  } finally {
    await close()
  }
})

tls(
  'hands a mail over by TLS alone, from the start or by STARTTLS, to a relay that its certificate names',
  async () => {
    await using folder = await tempDir()
    const files = await certificates(folder.path)
    const caFile = join(folder.path, 'ca.pem')
    for (const encryption of ['tls', 'starttls'] as const) {
      const relay = await startMailServer({ ...files, secure: encryption === 'tls' })
      try {
        const hand = async (host: string, more: object): Promise<void> => {
          const url = new URL(`smtp://${host}:${relay.port}`)
          const [file] = targetsOf([{ url: 'https://x.example/', secret_file: '/none', allow_private: true }])
          if (file === undefined) throw new Error('there is no target')
          const target: Target = { ...file, kind: 'mail', url, ...more }
          const mail = {
            host,
            port: relay.port,
            encryption,
            login: { user: KNOWN.user, pass: KNOWN.password },
            from: KNOWN.user,
            to: 'a@b.example',
            subject: 'a test',
            text: 'nothing is wrong',
            messageId: '<1@mail.example>',
          }
          await sendMail(target, mail, {
            signal: new AbortController().signal,
            resolve: async () => [{ address: '127.0.0.1', family: 4 }],
          })
        }
        const why = (host: string, more: object = { caFile }): Promise<string> =>
          hand(host, more).then(
            () => 'it was taken',
            (error: Error) => error.message,
          )
        assert.match(await why('hooks.example.org', {}), /unable to verify|self.signed certificate/)
        assert.match(await why('other.example.org'), /does not match/)
        assert.match(await why('127.0.0.1'), /does not match/)
        assert.equal(relay.told, [])
        assert.is(await why('hooks.example.org'), 'it was taken')
        assert.is(relay.told.length, 1)
      } finally {
        await relay.close()
      }
    }
  },
)

async function certificates(path: string): Promise<{ readonly key: string; readonly cert: string }> {
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: path, stdio: 'ignore' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3650']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=own CA')
  const names = ['-addext', 'subjectAltName=DNS:hooks.example.org']
  const issuer = ['-CA', 'ca.pem', '-CAkey', 'ca.key']
  openssl(
    'req',
    '-x509',
    ...key,
    ...issuer,
    '-keyout',
    'tls.key',
    '-out',
    'tls.pem',
    '-subj',
    '/CN=hooks',
    ...names,
  )
  return {
    key: await readFile(join(path, 'tls.key'), 'utf8'),
    cert: await readFile(join(path, 'tls.pem'), 'utf8'),
  }
}

tls.run()
