import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expandRoles, nodeCredentialsRef, systemPrincipal, tokenMintRef } from '@steeple/contracts'
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
  const named = { '{curl}': curl, '{token}': token, '{url}': url, '{data_dir}': settings.server.data_dir }
  const launcher = linesOfLauncher(named)
  const lines = [
    '',
    `Steeple ${kernel.info.version} runs in ${settings.server.mode} mode; node "${kernel.identity.name}", data in ${settings.server.data_dir}`,
    '',
    ...(await addressesOfPlugins(kernel, url)),
    `  API            ${url}/v1/docs`,
    `  documentation  ${url}/docs`,
    ...launcher.addresses,
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
    ...launcher.trial,
    'Ctrl-C ends it.',
    '',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Where each plugin is that has something to look at; a log, which keeps what it is told, gets no link that signs in. */
async function addressesOfPlugins(kernel: Kernel, url: string): Promise<readonly string[]> {
  const shown = kernel.registry.list().flatMap(({ welcome = [] }) => welcome)
  const lines = shown.map(async ({ name, path, signed_in: link }) => {
    const token = link !== undefined && process.stdout.isTTY === true ? await drawLink(kernel) : undefined
    const place = `  ${name.padEnd(13)}  ${url}`
    return link === undefined || token === undefined
      ? `${place}${path}`
      : `${place}${link.replace('{token}', token)}  (signs you in; works once)`
  })
  return Promise.all(lines)
}

/** What whoever has started the service has beside it: lines below the addresses, and what to try. */
function linesOfLauncher(
  named: Readonly<Record<string, string>>,
): Readonly<Record<'addresses' | 'trial', readonly string[]>> {
  const text = process.env.STEEPLE_WELCOME
  if (text === undefined) return { addresses: [], trial: [] }
  const filled = (line: string): string => line.replaceAll(/\{[a-z_]+\}/g, (name) => named[name] ?? name)
  // Written by lab.ts.
  const { addresses, trial } = JSON.parse(text) as ReturnType<typeof linesOfLauncher>
  return { addresses: addresses.map(filled), trial: trial.map(filled) }
}

/** With the CA that has signed what this box serves, unless its owner has given a certificate. */
function curlOf(kernel: Kernel): string {
  const { tls, server } = kernel.settings
  if (!tls.enabled || tls.cert_file !== '') return 'curl -s'
  const isMember = kernel.service(nodeCredentialsRef)?.membership() !== undefined
  return `curl -s --cacert ${join(server.data_dir, 'keys', isMember ? 'mesh/ca.pem' : 'mesh-ca.pem')}`
}

async function firstToken(kernel: Kernel): Promise<string | undefined> {
  const mint = kernel.service(tokenMintRef)
  if (mint === undefined || (await mint.count()) > 0) return undefined
  return (await mint.mint(systemPrincipal('first-start'), 'first start', ['admin'])).token
}

/** What opens the console as the first token does: whoever starts the service on a screen is its administrator. */
async function drawLink(kernel: Kernel): Promise<string | undefined> {
  const mint = kernel.service(tokenMintRef)
  const principal = { ...systemPrincipal('first-start'), roles: expandRoles(['admin']) }
  return (await mint?.link(principal))?.token
}

/** The file of the first token, in the data directory. */
const TOKEN_FILE = 'first-token'

/** How a minted token is told. */
function shown(token: string, dataDir: string): readonly string[] {
  const onScreen = [
    'Your admin token. Save it now: it is shown only once, and the box stores only its hash.',
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
    'Your admin token is in a file that only you can read. It is not printed, because this output is kept in a file or a log.',
    '',
    `  export SVC_TOKEN=$(cat ${file})`,
    '',
    'Save the token somewhere else, then delete the file. The box itself stores only the hash of the token.',
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
      `No token left? Start the service once with  ${variable}=$(openssl rand -hex 32)  and create a token: POST /v1/tokens`,
    ]
  }
  return minted
}
