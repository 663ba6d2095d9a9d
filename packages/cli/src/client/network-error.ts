import { type CommandError, failure } from '../command-error.ts'

const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'nothing listens there; start the service with "svc" or name its address with --url or SVC_URL',
  ENOTFOUND: 'the name does not resolve; check --url or SVC_URL',
  EAI_AGAIN: 'the name server does not answer; use an address in --url or SVC_URL',
  ECONNRESET: 'the connection was closed; if the service has tls.enabled, the address begins with https://',
  EHOSTUNREACH: 'there is no way to that host; check the network and --url',
  ENETUNREACH: 'there is no way to that network; check the network and --url',
  ETIMEDOUT: 'the service does not answer; see its log, or "svc doctor" on its machine',
  EPROTO: 'it does not speak TLS; the address may have to begin with http://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; the address may have to begin with http://',
}
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/

/** A failure below HTTP, with what can be done about it. */
export function networkError(base: URL, error: NodeJS.ErrnoException): CommandError {
  const code = error.code ?? codeOfFirst(error) ?? error.name
  return failure('unreachable', `cannot reach ${base.origin}: ${code}`, {
    hint: hintOf(code),
    cause: error,
  })
}

function hintOf(code: string): string | undefined {
  if (CERTIFICATE.test(code))
    return 'its certificate is not trusted; name the CA of the box (keys/mesh-ca.pem in its data directory, keys/mesh/ca.pem once it has joined a mesh) with --ca or SVC_CA'
  return REMEDIES[code]
}

/** `localhost` is tried as IPv6 and IPv4: the reasons are inside. */
function codeOfFirst(error: unknown): string | undefined {
  return error instanceof AggregateError
    ? (error.errors[0] as NodeJS.ErrnoException | undefined)?.code
    : undefined
}
