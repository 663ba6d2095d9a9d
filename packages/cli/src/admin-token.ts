import { configInvalid } from '@steeple/contracts'

/** Contract section 13: what can be guessed must not open everything. */
const LEAST_CHARS = 20

/**
 * The environment's admin token; undefined when the variable is absent or empty: then nobody is admin by environment.
 *
 * Throws `config_invalid` for one that is short or could not be sent.
 */
export function adminTokenFrom(
  env: Readonly<Record<string, string | undefined>>,
  variable: string,
): string | undefined {
  const token = env[variable]
  if (token === undefined || token === '') return undefined
  const remedy = `give it the output of "openssl rand -hex 24", or leave it unset and use tokens of svc token create`
  if (token.length < LEAST_CHARS) {
    throw configInvalid(
      `${variable} has fewer than ${LEAST_CHARS} characters, which can be guessed; ${remedy}`,
    )
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw configInvalid(`${variable} has spaces or characters that no HTTP header carries; ${remedy}`)
  }
  return token
}
