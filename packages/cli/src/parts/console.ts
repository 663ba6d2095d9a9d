import { addConsoleCommand, consoleLink } from '../commands/console.ts'
import type { Part } from '../part.ts'

/** `svc console`, and the link that `npm start` shows on a screen: a log keeps what it is told. */
export const part: Part = {
  addCommands: addConsoleCommand,
  welcome: async ({ url, drawLink }) => {
    const token = process.stdout.isTTY === true ? await drawLink() : undefined
    return token === undefined
      ? { addresses: [`  console        ${url}/`], trial: [] }
      : { addresses: [`  console        ${consoleLink(url, token)}  (opens it signed in, once)`], trial: [] }
  },
}
