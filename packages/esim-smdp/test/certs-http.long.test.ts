import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemPrincipal } from '@steeple/contracts'
import { newKey, readCertificate } from '@steeple/sgp22'
import { assert, codeOf, eventually, suite, type TestResponse, tempDir } from '@steeple/testkit'
import { anyClient } from '../src/certs/sets.ts'
import { type CertBed, certBed } from './support/cert-bed.ts'
import { pki } from './support/pki.ts'

const routes = suite('esim-smdp/certs-http')
const FIXTURES = new URL('./fixtures/sgp26/', import.meta.url)

interface Cert {
  readonly id: string
  readonly role: string
  readonly curve: string
  readonly ci_pkid: string
  readonly owner: string | null
  readonly hosts: readonly string[]
  readonly has_key: boolean
  readonly in_use: boolean
}
const certsOf = ({ body }: TestResponse): readonly Cert[] => (body as { certs: readonly Cert[] }).certs
/** All words of an error. */
const messageOf = ({ body }: TestResponse): string => {
  const { error } = body as { error: { message: string; details?: readonly { message: string }[] } }
  return [error.message, ...(error.details ?? []).map(({ message }) => message)].join('\n')
}
async function filesOf(names: readonly string[]): Promise<object> {
  return {
    files: await Promise.all(
      names.map(async (name) => ({
        name,
        base64: (await readFile(new URL(name, FIXTURES))).toString('base64'),
      })),
    ),
  }
}
async function withBed(
  work: (all: CertBed) => Promise<void>,
  options: Parameters<typeof certBed>[0] = {},
): Promise<void> {
  const all = await certBed(options)
  try {
    await work(all)
  } finally {
    await all.bed.stop()
  }
}

routes('makes a hierarchy on both curves, lists it, and refuses a second one unless forced', async () => {
  await withBed(async ({ bed, certs }) => {
    const made = await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'smdp.example.org:8443' } })
    assert.is(made.status, 201)
    assert.is(certsOf(made).length, 8)
    assert.ok(
      certsOf(made).every(({ has_key, in_use }) => has_key && in_use),
      'on each curve: a phone may take one alone',
    )
    assert.equal(
      certs()
        .identities()
        .map(({ curve, owner }) => [curve, owner])
        .toSorted(),
      [
        ['P-256', '2.999.10'],
        ['brainpoolP256r1', '2.999.10'],
      ],
    )
    const list = await bed.request('GET', '/v1/esim/certs?limit=5')
    const { next_cursor: next } = list.body as { next_cursor: string }
    const rest = await bed.request('GET', `/v1/esim/certs?limit=5&cursor=${next}`)
    assert.is(new Set([...certsOf(list), ...certsOf(rest)].map(({ id }) => id)).size, 8)
    const again = await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'smdp.example.org' } })
    assert.equal([again.status, codeOf(again)], [409, 'esim_cert_conflict'])
    const forced = await bed.request('POST', '/v1/esim/certs/init', {
      body: { host: 'other.example.org', curves: ['P-256'], force: true },
    })
    assert.is(forced.status, 201)
    assert.is(certs().identities().length, 3)
    assert.is(certs().identities()[0]?.ciPkid, certsOf(forced)[0]?.ci_pkid)
    const audit = await bed.audit()
    assert.equal(
      audit.slice(0, 3).map(({ action, outcome }) => `${action} ${outcome}`),
      ['esim_cert.init ok', 'esim_cert.init failed', 'esim_cert.init ok'],
    )
  })
})

routes('serves each name with its certificate, and any name with one', async () => {
  await withBed(async ({ bed, certs }) => {
    await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'a.example.org' } })
    await bed.request('POST', '/v1/esim/certs/init', {
      body: { host: 'b.example.org', curves: ['brainpoolP256r1'], force: true },
    })
    const curveOf = (
      host?: string,
      more: { groups?: number[]; trustedKeys?: string[] } = {},
    ): string | undefined => {
      const id = certs().tls({ ...anyClient(host), ...more })?.id
      return certs()
        .all()
        .find(({ row }) => row.id === id)?.row.curve
    }
    assert.equal(
      [curveOf('A.example.org'), curveOf('b.example.org'), curveOf('c.example.org'), curveOf()],
      ['P-256', 'brainpoolP256r1', 'P-256', 'P-256'],
    )
    // a.example.org has both curves: by the groups that a client has, and before them by the CIs that it believes.
    const brainpoolCi = certs()
      .all()
      .filter(({ row }) => row.role === 'ci' && row.curve === 'brainpoolP256r1')
      .map(({ row }) => row.ci_pkid)
    assert.equal(
      [
        curveOf('a.example.org', { groups: [29, 26] }),
        curveOf('a.example.org', { groups: [29, 26, 23] }),
        curveOf('a.example.org', { groups: [29, 23], trustedKeys: brainpoolCi }),
        curveOf('b.example.org', { groups: [29, 23] }),
      ],
      ['brainpoolP256r1', 'P-256', 'brainpoolP256r1', 'brainpoolP256r1'],
    )
    assert.ok(certs().tls(anyClient()))
    assert.is(certs().tls(anyClient('a.example.org')), certs().tls(anyClient('a.example.org')))
  })
})

routes('imports the published test hierarchy whole, and again without a change', async () => {
  await withBed(async ({ bed, certs }) => {
    const names = (await readdir(FIXTURES)).filter((name) => /\.(der|pem)$/.test(name))
    const done = await bed.request('POST', '/v1/esim/certs/import', { body: await filesOf(names) })
    assert.is(done.status, 200, JSON.stringify(done.body))
    assert.is(certsOf(done).length, 12)
    assert.equal(
      certs()
        .identities()
        .map(({ ciPkid, owner }) => `${ciPkid} ${owner}`)
        .toSorted()
        .at(-1),
      'f54172bdf98a95d65cbeb88a38a1c11d800a85c3 2.999.10',
    )
    assert.is(certs().identities().length, 2)
    const again = await bed.request('POST', '/v1/esim/certs/import', { body: await filesOf(names) })
    assert.equal([(again.body as { unchanged: number }).unchanged, certsOf(again).length], [12, 0])
  })
})

routes(
  'takes a CI whose key is published beside another one when it is forced alone, and says what it is',
  async () => {
    await withBed(async ({ bed, certs, health }) => {
      await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'a.example.org', curves: ['P-256'] } })
      const body = await filesOf([
        'CERT_CI_ECDSA_NIST.der',
        'CERT_S_SM_DPauth_ECDSA_NIST.der',
        'SK_S_SM_DPauth_ECDSA_NIST.pem',
        'CERT_S_SM_DPpb_ECDSA_NIST.der',
        'SK_S_SM_DPpb_ECDSA_NIST.pem',
      ])
      const refused = await bed.request('POST', '/v1/esim/certs/import', { body })
      assert.is(refused.status, 400)
      assert.match(messageOf(refused), /CERT_CI_ECDSA_NIST.*private key of this CI \(SGP\.26\) is published/)
      assert.equal([certs().identities().length, health().status], [1, 'ok'])
      const forced = await bed.request('POST', '/v1/esim/certs/import', { body: { ...body, force: true } })
      assert.is(forced.status, 200)
      assert.ok((forced.body as { certs: { is_test: boolean }[] }).certs.every(({ is_test }) => is_test))
      assert.equal(
        [health().status, /a test CI of SGP\.26 is beside another one/.test(health().detail)],
        ['degraded', true],
      )
      const key = createPublicKey(newKey('P-256')).export({ format: 'der', type: 'spki' }).toString('base64')
      const eum = await bed.request('POST', '/v1/esim/certs/lab-eum', { body: { public_keys: [key] } })
      assert.equal([eum.status, codeOf(eum)], [409, 'esim_cert_conflict'])
    })
  },
)

routes('makes the CERT.DPtls that sets lack, under their CI when its key is here', async () => {
  const { ci, identity } = pki('P-256')
  const pem = (name: string, key: KeyObject) => ({
    name,
    pem: String(key.export({ type: 'pkcs8', format: 'pem' })),
  })
  const der = (name: string, octets: Uint8Array) => ({ name, base64: Buffer.from(octets).toString('base64') })
  const files = [
    der('ci.der', ci.certificate.raw),
    der('auth.der', identity.auth.der),
    pem('auth.key', identity.auth.key),
    der('pb.der', identity.pb.der),
    pem('pb.key', identity.pb.key),
  ]
  for (const key of [[], [pem('ci.key', ci.key)]])
    await withBed(async ({ bed, certs }) => {
      const imported = await bed.request('POST', '/v1/esim/certs/import', {
        body: { files: [...files, ...key] },
      })
      assert.is(imported.status, 200, JSON.stringify(imported.body))
      const made = await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'smdp.example.org' } })
      assert.equal(
        certsOf(made).map(({ role, ci_pkid: pkid, in_use }) => [role, pkid === identity.ciPkid, in_use]),
        key.length === 0
          ? [
              ['ci', false, false],
              ['dptls', false, true],
            ]
          : [['dptls', true, true]],
      )
      assert.ok(certs().tls(anyClient('smdp.example.org')))
      assert.equal(
        certs()
          .identities()
          .map(({ ciPkid }) => ciPkid),
        [identity.ciPkid],
      )
      const again = await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'smdp.example.org' } })
      assert.equal([again.status, codeOf(again)], [409, 'esim_cert_conflict'])
    })
})

routes('names each file that it refuses, with what to do, and takes none of the others', async () => {
  await withBed(async ({ bed, certs }) => {
    const all = [
      'CERT_CI_ECDSA_NIST.der',
      'CERT_S_SM_DPauth_ECDSA_NIST.der',
      'SK_S_SM_DPauth_ECDSA_NIST.pem',
      'CERT_S_SM_DPpb_ECDSA_NIST.der',
      'SK_S_SM_DPpb_ECDSA_NIST.pem',
    ]
    const refused = async (names: readonly string[], words: RegExp): Promise<void> => {
      const answer = await bed.request('POST', '/v1/esim/certs/import', { body: await filesOf(names) })
      assert.is(answer.status, 400)
      assert.match(messageOf(answer), words)
      assert.is(certs().all().length, 0)
    }
    await refused(all.slice(1), /CERT_S_SM_DPauth.*no CERT\.CI with it is here; add/)
    await refused(
      all.filter((name) => !name.startsWith('SK_S_SM_DPpb')),
      /CERT_S_SM_DPpb.*without its private key; add/,
    )
    await refused([...all, 'SK_S_SM_DP2pb_ECDSA_NIST.pem'], /SK_S_SM_DP2pb.*fits none/)
    await refused(
      ['CERT_CI_ECDSA_NIST.der', 'expired/CERT_S_SM_DP_TLS_NIST.der', 'SK_S_SM_DP_TLS_NIST.pem'],
      /valid until 2026-08-02; import a newer/,
    )
    await refused(
      [
        'CERT_CI_ECDSA_NIST.der',
        'CERT_S_SM_DPauth_ECDSA_NIST.der',
        'SK_S_SM_DPauth_ECDSA_NIST.pem',
        'CERT_S_SM_DP2pb_ECDSA_NIST.der',
        'SK_S_SM_DP2pb_ECDSA_NIST.pem',
      ],
      /owner 2\.999\.10.*2\.999\.12.*both of one SM-DP\+/,
    )
    const words = { name: 'notes.txt', base64: Buffer.from('nothing of the kind').toString('base64') }
    const answer = await bed.request('POST', '/v1/esim/certs/import', { body: { files: [words] } })
    assert.match(messageOf(answer), /notes\.txt: is neither PEM nor DER/)
    assert.is((await bed.request('POST', '/v1/esim/certs/import', { body: await filesOf(all) })).status, 200)
    assert.is(certs().identities().length, 1)
  })
})

routes('removes a certificate, and a CI only when none is below it', async () => {
  await withBed(async ({ bed, certs }) => {
    const made = certsOf(
      await bed.request('POST', '/v1/esim/certs/init', { body: { host: '127.0.0.1', curves: ['P-256'] } }),
    )
    const idOf = (role: string): string => made.find((one) => one.role === role)?.id ?? ''
    assert.equal(made.find(({ role }) => role === 'dptls')?.hosts, ['127.0.0.1'])
    const kept = await bed.request('DELETE', `/v1/esim/certs/${idOf('ci')}`)
    assert.equal([kept.status, codeOf(kept)], [409, 'esim_cert_conflict'])
    for (const role of ['dptls', 'dpauth', 'dppb', 'ci'])
      assert.is((await bed.request('DELETE', `/v1/esim/certs/${idOf(role)}`)).status, 204)
    assert.equal([certs().all().length, certs().identities().length], [0, 0])
    const gone = await bed.request('DELETE', `/v1/esim/certs/${idOf('ci')}`)
    assert.equal([gone.status, codeOf(gone)], [404, 'esim_cert_not_found'])
  })
})

routes('shows the CI for test eUICCs, and no answer, log or audit entry holds a key', async () => {
  await withBed(async ({ bed, certs }) => {
    const made = await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'smdp.example.org' } })
    const ci = certsOf(made).find(({ role }) => role === 'ci')
    const one = await bed.request('GET', `/v1/esim/certs/${ci?.id}`)
    const { pem } = one.body as { pem: string }
    const der = Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ''), 'base64')
    assert.is(readCertificate(der).subjectKeyId, ci?.ci_pkid)
    const told = JSON.stringify([
      made.body,
      one.body,
      (await bed.request('GET', '/v1/esim/certs')).body,
      await bed.audit(),
      await bed.events(),
    ])
    for (const { key } of certs().all()) {
      // RFC 5915: version, then the octets.
      const octets = key?.export({ format: 'der', type: 'sec1' }).subarray(7, 39) ?? Buffer.alloc(0)
      assert.is(octets.length, 32)
      for (const form of [octets.toString('base64url'), octets.toString('hex'), octets.toString('base64')])
        assert.not.ok(told.includes(form))
    }
    assert.not.ok(told.includes('PRIVATE'))
  })
})

routes('follows what another instance has changed', async () => {
  await withBed(async ({ bed, certs, context }) => {
    await bed.request('POST', '/v1/esim/certs/init', { body: { host: 'a.example.org', curves: ['P-256'] } })
    assert.is(certs().all().length, 4)
    // As it comes out of the store of that one: the rows, and the event of the mutation.
    await context().mutate(systemPrincipal('another'), 'esim_cert.remove', 'x', async (tx) => {
      await tx.run("delete from esim_smdp_cert where role = 'dptls'")
    })
    await eventually(() => assert.is(certs().all().length, 3))
    assert.is(certs().tls(anyClient('a.example.org')), undefined)
  })
})

routes('needs the role admin', async () => {
  await withBed(async ({ bed }) => {
    const token = bed.credential({ kind: 'user', id: 'u', roles: ['operator', 'sim:admin'] })
    for (const [method, path] of [
      ['GET', '/v1/esim/certs'],
      ['POST', '/v1/esim/certs/init'],
      ['POST', '/v1/esim/certs/import'],
    ] as const)
      assert.is(
        (
          await bed.request(method, path, {
            token,
            ...(method === 'POST' && { body: { files: [{ name: 'x' }] } }),
          })
        ).status,
        403,
      )
  })
})

routes('looks into the folder again when the configuration is read again', async () => {
  await using dir = await tempDir()
  await withBed(
    async ({ certs, health, changed }) => {
      assert.match(health().detail, /no complete and valid set/)
      for (const name of await readdir(FIXTURES))
        if (/_NIST\.(der|pem)$/.test(name)) await copyFile(new URL(name, FIXTURES), join(dir.path, name))
      changed()
      await eventually(() => assert.is(certs().identities().length, 1))
      await eventually(() => assert.equal([health().status, health().detail.split(',')[0]], ['ok', '1 set']))
      await dir.remove()
      changed()
      await eventually(() => assert.match(health().detail, /certs_dir cannot be read/))
      assert.is(certs().identities().length, 1)
    },
    { config: { certs_dir: dir.path } },
  )
})

routes(
  'brings nothing back from the folder that was removed by hand, until it is imported by hand',
  async () => {
    await using dir = await tempDir()
    const put = async (ending: RegExp): Promise<void> => {
      for (const name of await readdir(FIXTURES))
        if (ending.test(name)) await copyFile(new URL(name, FIXTURES), join(dir.path, name))
    }
    await put(/_NIST\.(der|pem)$/)
    await withBed(
      async ({ bed, certs, changed, health }) => {
        const names = ['CERT_S_SM_DPauth_ECDSA_NIST.der', 'SK_S_SM_DPauth_ECDSA_NIST.pem']
        const raw = await readFile(new URL('CERT_S_SM_DPauth_ECDSA_NIST.der', FIXTURES))
        const isThere = (): boolean =>
          certs()
            .all()
            .some(({ row }) => Buffer.compare(row.der, raw) === 0)
        const id = createHash('sha256').update(raw).digest('hex')
        assert.ok(isThere())
        assert.is((await bed.request('DELETE', `/v1/esim/certs/${id}`)).status, 204)
        // What is new shows that the folder was looked into.
        await put(/_BRP\.(der|pem)$/)
        changed()
        await eventually(() =>
          assert.ok(
            certs()
              .identities()
              .some(({ curve }) => curve === 'brainpoolP256r1'),
          ),
        )
        assert.not.ok(isThere())
        await eventually(() =>
          assert.equal([health().status, health().detail.split(',')[0]], ['ok', '2 sets']),
        )
        const body = await filesOf(names)
        assert.is((await bed.request('POST', '/v1/esim/certs/import', { body })).status, 200)
        assert.ok(isThere())
      },
      { config: { certs_dir: dir.path } },
    )
  },
)

routes('imports the folder of the configuration at start, whatever lies beside', async () => {
  const folder = new URL('.', FIXTURES).pathname
  await withBed(
    async ({ certs, health }) => {
      assert.is(certs().identities().length, 2)
      const component = health()
      assert.equal(
        [component.status, component.detail],
        ['degraded', '1 file of esim.certs_dir is refused; the log says why'],
      )
    },
    { config: { certs_dir: folder } },
  )
})

routes.run()
