import { generateKeyPairSync } from 'node:crypto'
import { posix } from 'node:path'
import { issueCi } from '@steeple/sgp22'
import { mint } from '../credentials.ts'
import { addPerson, enter } from '../people.ts'
import { bundledPlugins } from '../plugin-manifests.ts'
import type { PluginBuild } from '../plugins/install-version.ts'
import type { Service } from '../service.ts'
import type { FuzzWorld } from './requests.ts'

/** Credentials of every role and some that are none. */
export async function credentialsOf(of: Service): Promise<Readonly<Record<string, string>>> {
  const roles = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']
  const scoped = await Promise.all(
    roles.map(async (role) => [
      `token ${role}`,
      `Bearer ${(await mint(of, { name: role, roles: [role] })).token}`,
    ]),
  )
  return {
    admin: `Bearer ${of.adminToken}`,
    person: `Bearer ${(await enter(of, await addPerson(of, 'fuzz', ['admin']))).token}`,
    none: '',
    unknown: 'Bearer svc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    garbage: 'Basic \u00ff:::',
    ...Object.fromEntries(scoped),
  }
}

/** A plugin that nothing else needs: it may come and go. */
export function victimPlugin(version: string): PluginBuild {
  const code = `// ${version}\nexport const plugin = { setup: async () => ({ routes: [] }) }\n`
  return { id: 'victim', version, code }
}

/** Ids that exist, cursors of every list, values that reach further than random ones. */
export async function knownThings(of: Service): Promise<FuzzWorld['known']> {
  const victims = await Promise.all(
    Array.from({ length: 40 }, (_, index) => mint(of, { name: `victim ${index}`, roles: ['viewer'] })),
  )
  const nodes = (await of.request('GET', '/v1/nodes')).body.nodes as readonly { readonly node_id: string }[]
  const nodeIds = nodes.map((node) => node.node_id)
  const lists = ['/v1/tokens?limit=1', '/v1/audit?limit=1', '/v1/audit?limit=1&action=token.create']
  const pages = await Promise.all(lists.map(async (path) => (await of.request('GET', path)).body.next_cursor))
  const plugins = ['victim', 'victim', 'victim', 'policy', 'access', 'kernel', 'no-such-plugin']
  const sims = (await of.request('POST', '/v1/sims', { body: { count: 40 } })).body.sims ?? []
  // Nobody guesses a profile that could be sent.
  const mast = { technology: 'lte', channel: 1_400, band: 'b3', bandwidth_mhz: 10, eirp_dbm: 20 }
  await of.request('PUT', '/v1/tx/profiles/mast', { body: mast })
  // One that no request removes.
  await of.request('PUT', '/v1/tx/profiles/hill', { body: mast })
  await of.request('PUT', '/v1/esim/providers/harbour', { body: { requester: '2.999.1' } })
  const papers: readonly string[] = [await licenseDocument(of, 'L-1'), await licenseDocument(of, 'L-2')]
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ci = issueCi('P-256', {
    notBeforeMs: Date.UTC(2026, 0, 1),
    notAfterMs: Date.UTC(2060, 0, 1),
    subject: { organization: 'Fuzz', commonName: 'Test CI' },
    registeredId: '2.999.1',
  })
  const hashes = sims.map((sim: { readonly imsi_sha256_12: string }) => sim.imsi_sha256_12)
  return {
    params: {
      'GET /v1/sims/{imsi}': hashes,
      'POST /v1/sims/{imsi}/suspend': hashes.slice(0, 30),
      'POST /v1/sims/{imsi}/resume': hashes.slice(0, 30),
      // One that is revoked stays so.
      'POST /v1/sims/{imsi}/revoke': hashes.slice(30),
      'DELETE /v1/tokens/{id}': victims.map((victim) => victim.id),
      'GET /v1/nodes/{id}/enroll': nodeIds,
      'GET /v1/nodes/{id}/leave': nodeIds,
      'GET /v1/desired-state/{id}': nodeIds,
      'GET /v1/software/{build}': ['0a1b2c3d4e5f'],
      'GET /v1/software/{build}/octets': ['0a1b2c3d4e5f'],
      'GET /docs/{page}': ['index.html', 'llms.txt', 'icon.svg'],
      'GET /docs/{folder}/{page} folder': ['how-to'],
      'GET /docs/{folder}/{page} page': ['sims.html', 'core.html'],
      'PUT /v1/tx/profiles/{id}': ['meadow', 'mast'],
      'DELETE /v1/tx/profiles/{id}': ['meadow', 'mast', 'mast'],
      'GET /v1/tx/profiles/{id}/dry-run': ['hill', 'meadow'],
      'GET /v1/policy/license/documents/{id}': papers,
      'DELETE /v1/policy/license/documents/{id}': papers,
      'GET /v1/esim/providers/{id}': ['harbour', 'meadow'],
      'PUT /v1/esim/providers/{id}': ['harbour', 'meadow'],
      'DELETE /v1/esim/providers/{id}': ['meadow'],
      'POST /v1/esim/providers/{id}/password': ['harbour'],
      'POST /v1/esim/providers/{id}/order-file': ['harbour'],
      'POST /v1/esim/providers/{id}/codes': ['harbour'],
      'POST /v1/esim/providers/{id}/order': ['harbour'],
      'GET /console-files/{file}': ['index.html', 'files.json', 'index.html.br'],
      ...pagesOfPlugins(),
      'POST /v1/plugins/{name}/load': plugins,
      'POST /v1/plugins/{name}/unload': ['victim', 'victim', 'access', 'no-such-plugin'],
      'POST /v1/plugins/{name}/reload': plugins,
      'POST /v1/plugins/{name}/disable': ['victim', 'access', 'no-such-plugin'],
      'POST /v1/plugins/{name}/enable': plugins,
      'POST /v1/plugins/{name}/uninstall': ['access', 'policy', 'no-such-plugin'],
    },
    cursors: pages.filter((cursor) => typeof cursor === 'string'),
    hints: {
      // A thousand SIMs at a time would test little else.
      count: [1, 2, 3, 5],
      ids: [hashes.slice(30, 33), hashes.slice(30)],
      replaces: hashes,
      node_id: nodeIds,
      version: ['1.0.0', '1.1.0', '0.1.0', '9.9.9'],
      channels: [[1300], [1300, 300, 6300], [620_000], [0], [3_279_165], [70_000]],
      band: ['b3', 'n78', 'b1', 'n1'],
      country: ['DE', 'US', 'LAB'],
      settings: [{ tac: 8 }, { 'server.country': 'DE' }],
      roles: [['viewer'], ['operator', 'sim:issuer'], ['admin']],
      expires_in: ['1m', '90d', '1ms', '100y'],
      profile_id: ['none', 'lab'],
      // Of the right form, and of nobody.
      token: [`svci_${'A'.repeat(43)}`, `svcl_${'A'.repeat(43)}`, `e-${'0'.repeat(8)}`],
      public_key: ['xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='],
      // Nobody guesses a certificate, or a point of a curve.
      files: [[{ name: 'ci.der', base64: Buffer.from(ci.certificate.raw).toString('base64') }]],
      public_keys: [[publicKey.export({ format: 'der', type: 'spki' }).toString('base64')]],
    },
  }
}

/** A document of a licence; the one of the licence before has ended and is kept. */
async function licenseDocument(of: Service, reference: string): Promise<string> {
  await of.request('PUT', '/v1/policy', { body: { spectrum: { license: { reference } } } })
  const answer = await fetch(`${of.url}/v1/policy/license/documents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${of.adminToken}`, 'content-type': 'application/pdf' },
    body: '%PDF-1.7',
  })
  const { id } = (await answer.json()) as { readonly id: string }
  return id
}

/** The files of each plugin's pages, by the route that serves them. */
function pagesOfPlugins(): Readonly<Record<string, readonly string[]>> {
  const modules = bundledPlugins().flatMap(({ manifest: { pages = [], panels = [] } }) =>
    [...pages, ...panels].map(({ module }) => module),
  )
  return Object.fromEntries(
    modules.map((module) => [`GET ${posix.dirname(module)}/{file}`, [posix.basename(module)]] as const),
  )
}
