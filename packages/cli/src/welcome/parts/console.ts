import { consoleLink } from '../../console-link.ts'
import type { WelcomePart } from '../welcome-part.ts'

/** The link that `npm start` shows on a screen: a log keeps what it is told. */
export const part: WelcomePart = {
  welcome: async ({ url, drawLink }) => {
    const token = process.stdout.isTTY === true ? await drawLink() : undefined
    return token === undefined
      ? { addresses: [`  console        ${url}/`], trial: [] }
      : { addresses: [`  console        ${consoleLink(url, token)}  (opens it signed in, once)`], trial: [] }
  },
}
