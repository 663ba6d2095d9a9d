import { useState } from 'preact/hooks'
import { download } from '../../api/download.ts'
import { t } from '../../text/index.ts'
import { DialogButton } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'

/** SIMs that are named one by one. */
export const MOST_PRINTED = 500

/** Takes the handout of a batch, or of SIMs with commas between them, as a file to print, in the reader's language. */
export function HandoutButton({
  of,
}: {
  readonly of: { readonly batch_id: string } | { readonly sims: string }
}) {
  const [hasCodes, setCodes] = useState(false)
  const query = {
    ...of,
    language: document.documentElement.lang,
    ...(hasCodes ? { codes: 'true' } : {}),
  }
  return (
    <DialogButton
      text="sims.handout"
      button={{ icon: 'printer' }}
      act={() => download('/v1/sims/handout', { query })}
      done={({ name }) => t('sims.handout.done', { name })}
      onDone={() => setCodes(false)}
    >
      <Checkbox text="sims.handout.codes" isChecked={hasCodes} onChange={setCodes} />
    </DialogButton>
  )
}
