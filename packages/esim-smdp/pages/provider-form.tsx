import { api, Field, FileField, FormDialog, t, useState } from '@steeple/console/kit'
import type { Provider } from './providers.tsx'

/** Files of a provider, by the property of the body that each is. */
const FILES = ['order_key', 'ca', 'cert', 'key'] as const

/** Adds a provider, or changes one; a file that is not chosen stays as it is. */
export function SetProviderDialog({
  provider,
  onClose,
}: {
  readonly provider: Provider | undefined
  readonly onClose: () => void
}) {
  const [id, setId] = useState(provider?.id ?? '')
  const [name, setName] = useState(provider?.name ?? '')
  const [url, setUrl] = useState(provider?.url ?? '')
  const [requester, setRequester] = useState(provider?.requester ?? '')
  const [type, setType] = useState(provider?.profile_type ?? '')
  const [subject, setSubject] = useState(provider?.notify_subject ?? '')
  const [files, setFiles] = useState<Partial<Record<(typeof FILES)[number], File>>>({})
  const send = async () => {
    const chosen = FILES.flatMap((key) => {
      const file = files[key]
      return file === undefined ? [] : [{ key, file }]
    })
    const texts = await Promise.all(chosen.map(async ({ key, file }) => [key, await file.text()] as const))
    return await api.put('/v1/esim/providers/{id}', {
      path: { id },
      body: {
        ...(name === '' ? {} : { name }),
        url,
        requester,
        profile_type: type,
        notify_subject: subject,
        ...Object.fromEntries(texts),
      },
    })
  }
  return (
    <FormDialog
      title={
        provider === undefined ? t('esim.provider.add') : t('esim.provider.set.of', { name: provider.name })
      }
      confirm={t('esim.provider.save')}
      act={send}
      onDone={onClose}
      onClose={onClose}
    >
      {provider === undefined ? (
        <Field
          text="esim.provider.id"
          isRequired
          pattern="[a-z][a-z0-9\-]{0,30}"
          value={id}
          onInput={setId}
        />
      ) : null}
      <Field text="esim.provider.name" maxLength={64} value={name} onInput={setName} />
      <Field text="esim.provider.type" maxLength={64} value={type} onInput={setType} />
      <FileField
        text="esim.provider.order_key"
        accept=".asc,.pgp,.txt"
        isRequired={false}
        onChoose={(file) => setFiles(withFile(files, 'order_key', file))}
      />
      <Field text="esim.provider.url" type="url" value={url} onInput={setUrl} />
      <Field text="esim.provider.requester" maxLength={128} value={requester} onInput={setRequester} />
      {FILES.slice(1).map((key) => (
        <FileField
          key={key}
          label={t(`esim.provider.${key}`)}
          accept=".pem,.crt,.cer,.key"
          isRequired={false}
          onChoose={(file) => setFiles(withFile(files, key, file))}
        />
      ))}
      <Field text="esim.provider.subject" maxLength={512} value={subject} onInput={setSubject} />
    </FormDialog>
  )
}

function withFile<Files extends object>(files: Files, key: string, file: File | undefined): Files {
  // Without a file the property is not sent, and what is there stays.
  return { ...files, [key]: file }
}
