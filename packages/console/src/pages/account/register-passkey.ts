import type { RequestOf, Result } from '@steeple/client'
import { api } from '../../api/client.ts'

type Verify = RequestOf<'POST', '/v1/auth/passkey/register/verify'>['body']

/** Makes a passkey on this device for who is signed in. `cancelled`: the person or the device did not. */
export async function registerPasskey(label: string): Promise<Result<unknown> | 'cancelled'> {
  const asked = await api.post('/v1/auth/passkey/register/options', { body: {} })
  if (!asked.ok) return asked
  // The service gives them as the browser takes them.
  const options = asked.data.options as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const made = await navigator.credentials.create({ publicKey }).catch(() => null)
  if (!(made instanceof PublicKeyCredential)) return 'cancelled'
  // What a browser makes is what the service takes: it checks it.
  const { id, rawId, type, response } = made.toJSON() as Verify['response']
  const { clientDataJSON, attestationObject, transports } = response
  return await api.post('/v1/auth/passkey/register/verify', {
    body: {
      ...(label === '' ? {} : { label }),
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, attestationObject, ...(transports === undefined ? {} : { transports }) },
      },
    },
  })
}
