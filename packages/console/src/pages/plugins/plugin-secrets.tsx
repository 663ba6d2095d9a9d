import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { named, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Field } from '../../ui/field.tsx'
import { DialogButton } from '../../ui/form-dialog.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'

/** The secrets that a plugin keeps: where each is, never what it is. */
export function PluginSecrets({ name }: { readonly name: string }) {
  const secrets = useQuery('/v1/plugins/{name}/secrets', { path: { name } }, { on: ['plugin.*'] })
  const remove = useAction((key: string) =>
    api.delete('/v1/plugins/{name}/secrets/{key}', { path: { name, key } }),
  )
  const run = async (key: string): Promise<void> => {
    if ((await remove.run(key))?.ok === true) secrets.reload()
  }
  if (secrets.error === undefined && (secrets.data === undefined || secrets.data.secrets.length === 0))
    return null
  return (
    <Card title={t('plugins.secrets')}>
      <p>{t('plugins.secrets.what')}</p>
      <ErrorNotice error={remove.error} />
      <Loaded query={secrets}>
        {({ secrets: known }) => (
          <ul>
            {known.map(({ key, from }) => (
              <li key={key}>
                <code>{key}</code>: {word('plugins.secret.from', from)}{' '}
                <SetSecret name={name} secret={key} onChanged={secrets.reload} />
                {from === 'store' ? (
                  <Button
                    kind="quiet"
                    isBusy={remove.isBusy}
                    label={named(t('plugins.secret.remove'), key)}
                    onClick={() => void run(key)}
                  >
                    {t('plugins.secret.remove')}
                  </Button>
                ) : null}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  )
}

function SetSecret({
  name,
  secret,
  onChanged,
}: {
  readonly name: string
  readonly secret: string
  readonly onChanged: () => void
}) {
  const [value, setValue] = useState('')
  return (
    <DialogButton
      text="plugins.secret.set"
      values={{ key: secret }}
      button={{ kind: 'quiet', label: named(t('plugins.secret.set'), secret) }}
      act={() =>
        api.put('/v1/plugins/{name}/secrets/{key}', { path: { name, key: secret }, body: { value } })
      }
      onDone={() => {
        setValue('')
        onChanged()
      }}
    >
      <Field
        label={t('plugins.secret.value')}
        help={t('plugins.secret.help')}
        type="password"
        value={value}
        onInput={setValue}
        isRequired
      />
    </DialogButton>
  )
}
