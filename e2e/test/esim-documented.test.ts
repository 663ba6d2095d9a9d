import { createPrivateKey } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite, unusedPort } from '@steeple/testkit'
import { downloadProfile, type Es9Transport, type Euicc } from '@steeple/virtual-euicc'
import { documentedBlocks, openDocumentShell } from '../harness/documented/commands.ts'
import { newEuicc } from '../harness/esim.ts'
import { ROOT } from '../harness/launch.ts'
import { startService } from '../harness/service.ts'

/** The way of docs/how-to/esim-certificates.md to a test eUICC, by the commands of the page, on a box that was never started. */
const documented = suite('e2e/esim-documented')
const SMDP = join(ROOT, 'packages/esim-smdp/test/fixtures')
const HOST = 'smdp.example.org'
const FOLDERS: Readonly<Record<string, RegExp>> = {
  CertificateIssuer: /^CERT_CI_/,
  DPauth: /_DP2?auth_/,
  DPpb: /_DP2?pb_/,
}

/** The folders of pySim that the page names. */
function putCertificates(cwd: string): void {
  for (const [folder, names] of Object.entries(FOLDERS)) {
    const place = join(cwd, 'smdpp-data/certs', folder)
    mkdirSync(place, { recursive: true })
    for (const name of readdirSync(join(SMDP, 'sgp26')).filter((one) => names.test(one)))
      copyFileSync(join(SMDP, 'sgp26', name), join(place, name))
  }
}

/** One under the published test EUM, as sysmoEUICC1-C2T is. */
function testEuicc(): Euicc {
  const read = (path: string): Buffer => readFileSync(join(SMDP, path))
  const eum = read('sgp26-keys/CERT_EUM_ECDSA_NIST.der')
  return newEuicc([
    {
      curve: 'P-256',
      iin: '89049032',
      ci: read('sgp26/CERT_CI_ECDSA_NIST.der').toString('base64'),
      eum: eum.toString('base64'),
      key: createPrivateKey(read('sgp26-keys/SK_EUM_ECDSA_NIST.pem')),
    },
  ])
}

/** HTTPS to the listener, whatever name the address has; `ca` is what must stand behind its certificate, undefined: lpac, which looks at none. */
function throughTls(port: number, ca: string | undefined): Es9Transport {
  return (url, headers, body) =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        path: new URL(url).pathname,
        method: 'POST',
        headers,
        servername: HOST,
      }
      const call = request(
        { ...options, ...(ca === undefined ? { rejectUnauthorized: false } : { ca }) },
        (incoming) => {
          let text = ''
          incoming.on('data', (part) => {
            text += part
          })
          const { statusCode = 0, headers: told } = incoming
          incoming.on('end', () =>
            resolve({ status: statusCode, contentType: told['content-type'], body: text }),
          )
        },
      )
      call.on('error', reject)
      call.end(body)
    })
}

for (const hasCiKey of [false, true])
  documented(
    `leads from certificates of pySim to a profile on a test eUICC${hasCiKey ? ', with the key of the CI' : ''}`,
    async () => {
      const cwd = mkdtempSync(join(tmpdir(), 'steeple-esim-page-'))
      const port = await unusedPort()
      const env = {
        SVC_SERVER_MODE: 'rf',
        SVC_SERVER_COUNTRY: 'DE',
        SVC_ESIM_ENABLED: 'true',
        SVC_ESIM_SMDP_ADDRESS: HOST,
        SVC_ESIM_LISTEN: `127.0.0.1:${port}`,
        SVC_HSS_DRIVER: 'none',
      }
      const service = await startService({ env, dataDir: join(cwd, 'data') })
      const shell = openDocumentShell(cwd, { SVC_URL: service.url, SVC_TOKEN: service.adminToken })
      try {
        putCertificates(cwd)
        const place = join(cwd, 'smdpp-data/certs/CertificateIssuer/SK_CI_ECDSA_NIST.pem')
        if (hasCiKey) copyFileSync(join(SMDP, 'sgp26-keys/SK_CI_ECDSA_NIST.pem'), place)
        const [block] = (documentedBlocks().get('how-to/esim-certificates.md') ?? []).filter(({ commands }) =>
          commands[0]?.script.startsWith('svc esim certs import smdpp-data'),
        )
        let printed = ''
        for (const { script } of block?.commands ?? []) {
          if (script.startsWith('svc esim certs')) {
            const early = await service.request('POST', '/v1/esim/issue', { body: {} })
            assert.is(early.status, 409, `${script}: no code before a phone could fetch it`)
          }
          const { code, output } = await shell.run(script)
          assert.is(code, 0, output)
          printed = output
        }
        const [activationCode = ''] = /LPA:1\$\S+/.exec(printed) ?? []
        const ca = hasCiKey ? caOf(join(SMDP, 'sgp26/CERT_CI_ECDSA_NIST.der')) : undefined
        const { profile } = await downloadProfile({
          euicc: testEuicc(),
          activationCode,
          transport: throughTls(port, ca),
        })
        assert.match(profile.imsi, /^99999\d{10}$/)
      } finally {
        shell.end()
        await service.stop()
        rmSync(cwd, { recursive: true, force: true })
      }
    },
  )

function caOf(path: string): string {
  const text =
    readFileSync(path)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${text.join('\n')}\n-----END CERTIFICATE-----\n`
}

documented.run()
