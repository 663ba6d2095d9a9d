import type { Commands } from '@steeple/contracts'

/** Commands that are more than one operation of the API; the others are data of the manifest. Loaded when one of them runs. */
export const commands: Commands = {
  'sample-plugin write': async ({ typed, input, call, printRecord, failure }) => {
    const body = (await input()).trim()
    if (body === '')
      throw failure(
        'no_text',
        'standard input is empty',
        'echo "Mind the mast." | svc sample-plugin write NAME',
      )
    const { name, expiresIn } = typed
    const note = { body, ...(expiresIn === undefined ? {} : { expires_in: expiresIn }) }
    printRecord(
      await call('PUT /v1/sample-plugin/notes/{name}', { path: { name: String(name) }, body: note }),
    )
  },
}
