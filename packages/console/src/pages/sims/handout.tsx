import { useState } from 'preact/hooks'
import { download } from '../../api/download.ts'
import { t } from '../../text/index.ts'
import { Checkbox } from '../../ui/field.tsx'
import { DialogButton } from '../../ui/form-dialog.tsx'

/** Takes the handout of a batch as a file to print, in the reader's language. */
export function HandoutButton({ batch }: { readonly batch: string }) {
  const [hasCodes, setCodes] = useState(false)
  const query = {
    batch_id: batch,
    language: document.documentElement.lang,
    ...(hasCodes ? { codes: 'true' } : {}),
  }
  return (
    <DialogButton
      button={{ icon: 'printer', children: t('sims.handout') }}
      title={t('sims.handout')}
      confirm={t('sims.handout.go')}
      what={t('sims.handout.what')}
      act={() => download('/v1/sims/handout', { query })}
      done={({ name }) => t('sims.handout.done', { name })}
      onDone={() => setCodes(false)}
    >
      <Checkbox label={t('sims.handout.codes')} isChecked={hasCodes} onChange={setCodes} />
    </DialogButton>
  )
}
