import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { Step } from './step.tsx'

/** The names by which phones ask for the internet. */
export function Apns() {
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const save = useAction((apns: readonly string[]) =>
    api.put('/v1/policy', { body: { apns }, ...(policy.etag === undefined ? {} : { ifMatch: policy.etag }) }),
  )
  const known = policy.data?.apns ?? []
  const text = typed ?? known.join(', ')
  const submit = async (): Promise<void> => {
    const apns = text.split(/[\s,]+/).filter((name) => name !== '')
    const result = await save.run(apns)
    if (result?.ok !== true) return
    setTyped(undefined)
    toast({ text: t('start.saved') })
  }
  return (
    <Step title={t('start.apn')} isDone={known.length > 0}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <Field
          label={t('start.apn.names')}
          help={t('start.apn.help')}
          value={text}
          onInput={setTyped}
          isRequired
        />
        {save.error === undefined ? null : <ErrorNotice error={save.error} onRetry={policy.reload} />}
        <div>
          <Button type="submit" isBusy={save.isBusy} isDisabled={typed === undefined}>
            {t('start.save')}
          </Button>
        </div>
      </form>
    </Step>
  )
}
