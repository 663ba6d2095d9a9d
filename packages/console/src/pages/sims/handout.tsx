import { useState } from 'preact/hooks'
import { download } from '../../api/download.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'

/** Takes the handout of a batch as a file to print, in the reader's language. */
export function HandoutButton({ batch }: { readonly batch: string }) {
  const [isOpen, setOpen] = useState(false)
  const [hasCodes, setCodes] = useState(false)
  const take = useAction((query: Readonly<Record<string, string>>) => download('/v1/sims/handout', { query }))
  const go = async (): Promise<void> => {
    const answer = await take.run({
      batch_id: batch,
      language: document.documentElement.lang,
      ...(hasCodes ? { codes: 'true' } : {}),
    })
    if (answer?.ok !== true) return
    setOpen(false)
    setCodes(false)
    toast({ text: t('sims.handout.done', { name: answer.data.name }) })
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('sims.handout')}</Button>
      <ConfirmDialog
        isOpen={isOpen}
        title={t('sims.handout')}
        confirm={t('sims.handout.go')}
        onClose={() => setOpen(false)}
        onConfirm={() => void go()}
        isBusy={take.isBusy}
        error={take.error}
      >
        <p>{t('sims.handout.what')}</p>
        <Checkbox label={t('sims.handout.codes')} isChecked={hasCodes} onChange={setCodes} />
      </ConfirmDialog>
    </>
  )
}
