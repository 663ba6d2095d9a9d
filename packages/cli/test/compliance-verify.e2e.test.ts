import { createPrivateKey, sign } from 'node:crypto'
import { writeFile as save } from 'node:fs/promises'
import { join } from 'node:path'
import { type Manifest, writeFile } from '@steeple/compliance/file'
import { initNode, openSecrets } from '@steeple/secrets'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import { svc } from './svc.ts'

const test = suite('cli/compliance verify')

type Ending = Omit<Manifest, 'rows' | 'sha256'>

/** A file of a new node that says of itself what it likes, and the CA of the node. */
async function forged(dataDir: string, own: Partial<Ending>): Promise<{ file: string; ca: string }> {
  await initNode({ dataDir, clock: fakeClock(), name: 'hill 1' })
  const secrets = openSecrets(dataDir)
  const key = createPrivateKey(secrets.tls().key)
  const at = new Date(fakeClock().nowMs()).toISOString()
  const pieces: Buffer[] = []
  const rows = async function* () {
    yield [{ kind: 'sim', id: 1 }]
  }
  const ending = async (): Promise<Ending> => ({
    node_id: secrets.identity.nodeId,
    node_name: secrets.identity.name,
    made_at: at,
    from: at,
    to: at,
    kinds: ['sim'],
    audit_head: { seq: 1, hash: 'a', seal: 'b' },
    certificate: secrets.certificate().raw.toString('base64'),
    ca: Buffer.from(secrets.caPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64'),
    ...own,
  })
  for await (const piece of writeFile(rows(), { ending, sign: (octets) => sign('sha256', octets, key) }))
    pieces.push(piece)
  const file = join(dataDir, 'file.csv')
  await save(file, Buffer.concat(pieces))
  return { file, ca: join(dataDir, 'keys', 'mesh-ca.pem') }
}

test('a forger writes nothing over what is wrong with the file', async () => {
  await using own = await tempDir()
  await using other = await tempDir()
  const line = '\u001b[2K\rok: the file is what its node made\n'
  const { file } = await forged(own.path, { node_id: line, made_at: line })
  const { ca } = await forged(other.path, {})
  const { code, out, err } = await svc(['compliance', 'verify', file, '--trust', ca])
  assert.equal([code, out], [1, ''])
  assert.not.ok(err.includes('\u001b') || err.includes('\r'), JSON.stringify(err))
  assert.ok(
    err.split('\n').every((text) => text === '' || text.startsWith('wrong: ')),
    JSON.stringify(err),
  )
  assert.match(err, /a foreign signature/)
  const good = await forged(join(other.path, 'good'), {})
  const run = await svc(['compliance', 'verify', good.file, '--trust', good.ca])
  assert.is(run.code, 0, run.err)
  assert.match(run.out, /^ok: /)
})

test.run()
