import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { meshIdentityRef, systemPrincipal, tokenMintRef } from '@steeple/contracts'
import type { Kernel } from '@steeple/kernel'

/**
 * Tells a newcomer where everything is and how to authenticate.
 *
 * Mints an admin token when the box has no credential at all. It is shown here once and kept nowhere, on a screen; where
 * standard output is a log, it goes into a file of the data directory that its owner alone can read.
 */
export async function introduce(kernel: Kernel, url: string): Promise<void> {
  const { settings } = kernel
  const variable = settings.auth.admin_token_env
  const hasVariable = (process.env[variable] ?? '') !== ''
  const minted = hasVariable ? undefined : await firstToken(kernel)
  const token = hasVariable ? `$${variable}` : '$SVC_TOKEN'
  const curl = curlOf(kernel)
  const lines = [
    '',
    `Steeple ${kernel.info.version} runs in ${settings.server.mode} mode; node "${kernel.identity.name}", data in ${settings.server.data_dir}`,
    '',
    `  API            ${url}/v1`,
    `  documentation  ${url}/v1/docs`,
    ...labAddress(),
    '',
    ...credentialLines(
      minted === undefined ? undefined : shown(minted, settings.server.data_dir),
      hasVariable,
      variable,
    ),
    '',
    'Try:',
    `  ${curl} ${url}/v1/healthz`,
    `  ${curl} -H "Authorization: Bearer ${token}" ${url}/v1/status`,
    `  ${curl} -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' ${url}/v1/spectrum/check -d '{"technology":"lte","channels":[1300]}'`,
    '',
    ...labTrial({ url, token, curl, dataDir: settings.server.data_dir }),
    'Ctrl-C ends it.',
    '',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** With the CA that has signed what this box serves, unless its owner has given a certificate. */
function curlOf(kernel: Kernel): string {
  const { tls, server } = kernel.settings
  if (!tls.enabled || tls.cert_file !== '') return 'curl -s'
  const isMember = kernel.service(meshIdentityRef)?.membership() !== undefined
  return `curl -s --cacert ${join(server.data_dir, 'keys', isMember ? 'mesh/ca.pem' : 'mesh-ca.pem')}`
}

/** Where the phones are, when `npm start` has a lab core beside the service. */
function labAddress(): readonly string[] {
  const { LAB_CORE_URL: address = '', LAB_CORE_COUNTED: counted } = process.env
  if (address === '') return []
  return [
    `  lab core       ${address}  (a stand-in for core, radio and phones)`,
    ...(counted === undefined ? [] : [`  data           ${counted}`]),
  ]
}

/** From a SIM to a phone that attaches with it. */
function labTrial({ url, token, curl, dataDir }: Readonly<Record<string, string>>): readonly string[] {
  if (labAddress().length === 0) return []
  return [
    'A SIM, and a phone of the lab core that attaches with it (README.md, "The first ten minutes"):',
    `  BATCH=$(${curl} -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' ${url}/v1/sims -d '{}' | sed 's/.*"batch_id":"\\([^"]*\\)".*/\\1/')`,
    `  npm run -s svc -- sim export "$BATCH" --data-dir ${dataDir} --format json | npm run -s lab -- insert`,
    '',
  ]
}

async function firstToken(kernel: Kernel): Promise<string | undefined> {
  const mint = kernel.service(tokenMintRef)
  if (mint === undefined || (await mint.count()) > 0) return undefined
  return (await mint.mint(systemPrincipal('first-start'), 'first start', ['admin'])).token
}

/** The file of the first token, in the data directory. */
const TOKEN_FILE = 'first-token'

/** How a minted token is told. */
function shown(token: string, dataDir: string): readonly string[] {
  const onScreen = [
    'An admin token, shown this once and stored only as a hash:',
    '',
    `  export SVC_TOKEN=${token}`,
  ]
  if (process.stdout.isTTY === true) return onScreen
  const file = join(dataDir, TOKEN_FILE)
  try {
    rmSync(file, { force: true })
    writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' })
  } catch {
    // Without a way to hand it over there would be none at all.
    return onScreen
  }
  return [
    'An admin token lies in a file that you alone can read, since what is printed here is kept somewhere:',
    '',
    `  export SVC_TOKEN=$(cat ${file})`,
    '',
    'Remove the file when the token is kept elsewhere; it is stored only as a hash beside.',
  ]
}

function credentialLines(
  minted: readonly string[] | undefined,
  hasVariable: boolean,
  variable: string,
): readonly string[] {
  if (hasVariable) return [`Authenticate with the bearer token in ${variable} (role admin).`]
  if (minted === undefined) {
    return [
      'Authenticate with a token made before:  export SVC_TOKEN=svc_…',
      `None left? Start once with  ${variable}=$(openssl rand -hex 32)  and create one: POST /v1/tokens`,
    ]
  }
  return minted
}
