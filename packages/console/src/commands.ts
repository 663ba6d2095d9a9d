import type { Commands } from '@steeple/contracts'

/** `svc console`: the token is behind #, which is sent to nobody and gets into no log. RFC 3986 §3.5. */
export const commands: Commands = {
  console: async ({ call, url, printRecord }) => {
    const { token, expires_at } = await call('POST /v1/auth/links')
    printRecord({ link: `${url}/#${String(token)}`, expires_at })
  },
}
