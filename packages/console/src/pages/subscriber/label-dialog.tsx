import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'
import type { SimDialogProps } from './cut.ts'

/** Gives a SIM a name; the one before can be had back. */
export function LabelDialog({ sim, onClose, onChanged }: SimDialogProps) {
  const [text, setText] = useState(sim.label ?? '')
  const path = { imsi: sim.imsi_sha256_12 }
  const change = useAction((label: string | null) =>
    api.post('/v1/sims/{imsi}/label', { path, body: { label } }),
  )
  const confirm = async (): Promise<void> => {
    const answer = await change.run(text.trim() === '' ? null : text.trim())
    if (answer?.ok !== true) return
    const undo = async (): Promise<void> => {
      await api.post('/v1/sims/{imsi}/label', { path, body: { label: sim.label } })
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
      error={change.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Field
        label={t('sims.label')}
        help={t('sims.label.help')}
        maxLength={64}
        isFocused
        value={text}
        onInput={setText}
      />
    </ConfirmDialog>
  )
}
