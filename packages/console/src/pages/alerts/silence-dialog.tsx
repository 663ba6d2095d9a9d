import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Alert, ruleText, subjectText } from './alert-words.ts'

const HOUR_MS = 3_600_000
const LENGTHS = { hour: HOUR_MS, shift: 8 * HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS } as const
const CHOICES = ['hour', 'shift', 'day', 'week', 'until'] as const

/** Asks until when receivers are to be told nothing of an alert's rule and subject. */
export function SilenceDialog({
  alert,
  onClose,
  onChanged,
}: {
  readonly alert: Alert
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [choice, setChoice] = useState<string>('hour')
  const [until, setUntil] = useState('')
  const path = { id: alert.id }
  const silence = useAction((end: string | null) =>
    api.post('/v1/alerts/{id}/silence', { path, body: { until: end } }),
  )
  const confirm = async (): Promise<void> => {
    if ((await silence.run(endOf(choice, until)))?.ok !== true) return
    toast({ text: t('alerts.silenced'), undo: () => void silence.run(null).then(onChanged) })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('alerts.silence.title')}
      confirm={t('alerts.silence')}
      isBusy={silence.isBusy}
      isDisabled={choice === 'until' && until === ''}
      error={silence.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('alerts.silence.what', { rule: ruleText(alert.rule), subject: subjectText(alert) })}</p>
      <div class="stack">
        <Select
          label={t('alerts.silence.for')}
          value={choice}
          onChange={setChoice}
          options={CHOICES.map((value) => ({ value, label: t(`alerts.silence.${value}`) }))}
        />
        {choice === 'until' ? (
          <Field
            label={t('alerts.silence.until')}
            type="datetime-local"
            value={until}
            onInput={setUntil}
            isRequired
          />
        ) : null}
      </div>
    </ConfirmDialog>
  )
}

function endOf(choice: string, until: string): string {
  const lengthMs = (LENGTHS as Readonly<Record<string, number>>)[choice]
  return (lengthMs === undefined ? new Date(until) : new Date(Date.now() + lengthMs)).toISOString()
}
