import type { CDPSession, Page } from 'playwright-core'

/** An answer of the service as the page got it. */
export interface PageAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
  readonly body: any
}

/** An authenticator of the browser's own, without hardware. Chrome DevTools Protocol, domain WebAuthn. */
export interface VirtualAuthenticator {
  /** Whether who is there can be verified from now on. */
  verifies(isVerified: boolean): Promise<void>
  /** Puts the only passkey in again as it was when it had signed so often: what a copy of the device is. */
  goBackTo(signCount: number): Promise<void>
  /** How often the only passkey has signed. */
  signCount(): Promise<number>
}

/** Gives the page a device with which passkeys can be made. */
export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session: CDPSession = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const only = async () => {
    const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId })
    const [credential] = credentials
    if (credential === undefined || credentials.length > 1) throw new Error(`${credentials.length} passkeys`)
    return credential
  }
  return {
    verifies: async (isUserVerified) => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
    goBackTo: async (signCount) => {
      const credential = await only()
      const { credentialId } = credential
      await session.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
      await session.send('WebAuthn.addCredential', {
        authenticatorId,
        credential: { ...credential, signCount },
      })
    },
    signCount: async () => (await only()).signCount,
  }
}

/** What both do in the page; as text, since the types of this package are those of node. */
const POST = `async (path, body, headers = {}) => {
  const type = { 'content-type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) ?? null })
  return { status: response.status, body: await response.json() }
}`

/** What a page does to make a passkey for who has that JWT: the answer, or the name of the browser's refusal. */
export function makePasskey(page: Page, token: string): Promise<PageAnswer | string> {
  return page.evaluate(`(async (post, headers) => {
    const asked = await post('/v1/auth/passkey/register/options', undefined, headers)
    if (asked.status !== 200) return asked
    try {
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked.body.options)
      const made = await navigator.credentials.create({ publicKey })
      const body = { response: made.toJSON(), label: 'virtual' }
      return await post('/v1/auth/passkey/register/verify', body, headers)
    } catch (error) {
      return error.name
    }
  })(${POST}, ${JSON.stringify({ authorization: `Bearer ${token}` })})`)
}

/**
 * What a page does to log in: the answer, or the name of the browser's refusal. `verification` is what the page asks of the
 * browser in the place of what the service has asked for.
 */
export function logInByPasskey(page: Page, verification?: 'discouraged'): Promise<PageAnswer | string> {
  const instead = verification === undefined ? {} : { userVerification: verification }
  return page.evaluate(`(async (post, instead) => {
    const asked = await post('/v1/auth/passkey/options')
    if (asked.status !== 200) return asked
    try {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({ ...asked.body.options, ...instead })
      const signed = await navigator.credentials.get({ publicKey })
      return await post('/v1/auth/passkey/verify', { response: signed.toJSON() })
    } catch (error) {
      return error.name
    }
  })(${POST}, ${JSON.stringify(instead)})`)
}
