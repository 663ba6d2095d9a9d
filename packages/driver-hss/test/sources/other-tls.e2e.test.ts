import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { assert, listen, suite, tempDir } from '@steeple/testkit'
import { otherClients, otherSource } from '../../src/sources/api.ts'

const tls = suite('driver-hss/sources/other-tls')

/** A certificate for 127.0.0.1 that nobody else has signed. */
function certificateIn(dir: string, name: string): void {
  const files = ['-keyout', join(dir, `${name}.key`), '-out', join(dir, `${name}.pem`)]
  const more = ['-subj', '/CN=core', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...files, ...more],
    { stdio: 'ignore' },
  )
}

tls('believes the CA of hss.other_ca_file, reads it anew, and says so when it is missing', async () => {
  await using dir = await tempDir()
  certificateIn(dir.path, 'core')
  certificateIn(dir.path, 'stranger')
  const [key, cert] = await Promise.all(
    ['core.key', 'core.pem'].map((name) => readFile(join(dir.path, name), 'utf8')),
  )
  const server = createServer({ key, cert }, (_request, response) => {
    response.writeHead(200, { connection: 'close' }).end('{"result":{"items":[],"page":1,"per_page":100}}')
  })
  const { url, close } = await listen(server)
  const clients = otherClients({ maxBytes: 1_000_000, idleMs: 0 })
  const listed = async (caFile: string): Promise<string> => {
    const settings = {
      ...({ other: 'ella', other_url: url } as const),
      ...{ other_token_file: '', other_ca_file: caFile },
    }
    const all = otherSource(settings, clients)?.everybody(AbortSignal.timeout(20_000))
    return await (all ?? Promise.resolve([])).then(
      (imsis) => `${imsis.length} subscribers`,
      (error: Error) => error.message,
    )
  }
  try {
    assert.match(await listed(''), /a certificate that is not believed .*hss\.other_ca_file/)
    assert.match(await listed(join(dir.path, 'none.pem')), /the file of hss\.other_ca_file cannot be read/)
    const caFile = join(dir.path, 'ca.pem')
    await writeFile(caFile, await readFile(join(dir.path, 'stranger.pem')))
    assert.match(await listed(caFile), /is not believed/)
    await writeFile(caFile, cert ?? '')
    assert.is(await listed(caFile), '0 subscribers')
  } finally {
    clients.close()
    await close()
  }
})

tls.run()
