import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import type { SimDialogProps } from './cut.ts'

/** Gives a SIM a name; the one before can be had back. */
export function LabelDialog({ sim, etag, onClose, onChanged }: SimDialogProps) {
  const draft = useDraft(sim.label ?? '')
  const path = { imsi: sim.imsi_sha256_12 }
  const change = useAction((label: string | null) =>
    api.post('/v1/sims/{imsi}/label', { path, body: { label }, ifMatch: etag }),
  )
  const confirm = async (): Promise<void> => {
    const text = draft.value.trim()
    const answer = await change.run(text === '' ? null : text)
    // Refused as stale: what is there now is read, and shown beside what is typed.
    if (answer?.ok === false) onChanged()
    if (answer?.ok !== true) return
    const undo = async (): Promise<void> => {
      const body = { label: sim.label }
      const undone = await api.post('/v1/sims/{imsi}/label', { path, body, ifMatch: answer.etag })
      if (!undone.ok) toast({ text: undone.error.message, tone: 'bad' })
      onChanged()
    }
    toast({ text: t('sim.labelled'), undo: () => void undo() })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('sims.label')}
      confirm={t('sims.bulk.label')}
      isBusy={change.isBusy}
      isDisabled={draft.isStale}
      error={draft.isStale ? undefined : change.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Field
        label={t('sims.label')}
        help={t('sims.label.help')}
        maxLength={64}
        isFocused
        value={draft.value}
        onInput={draft.set}
      />
      <StaleNotice draft={draft} text={String} onChosen={change.clear} />
    </ConfirmDialog>
  )
}
