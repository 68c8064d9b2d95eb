/** A model's id as one segment of a path: slashes of an ARN are encoded, colons and at-signs are not, as in the vendor's own clients. Rules: doors.md "Kinds". */

export const pathSegment = (id: string): string => id.replace(/[^A-Za-z0-9\-._~!$&'()*+,=:@]+/g, encodeURIComponent)
