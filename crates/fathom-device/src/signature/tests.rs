//! One image per row; offsets and bytes are written out again here, from the formats' documents.

use super::*;

const SIZE: usize = 8 << 20;

fn find(writes: &[(usize, &[u8])]) -> Vec<(SignatureKind, u64)> {
    let mut image = vec![0; SIZE];
    for (place, bytes) in writes {
        image[*place..place + bytes.len()].copy_from_slice(bytes);
    }
    in_image(&image)
}

fn in_image(image: &[u8]) -> Vec<(SignatureKind, u64)> {
    let window = image.len().min(END_WINDOW);
    let found = signatures(
        &image[..window],
        &image[image.len() - window..],
        Bytes::new(image.len() as u64),
    );
    found
        .into_iter()
        .map(|signature| (signature.kind, signature.offset.get()))
        .collect()
}

#[test]
fn blank_and_tiny_devices_have_no_signatures() {
    assert_eq!(find(&[]), []);
    for length in [0, 1, 511, 512, 1025, 4096] {
        assert_eq!(in_image(&vec![0; length]), [], "{length}");
    }
}

#[test]
fn every_format_is_found_at_its_offset() {
    use SignatureKind as K;
    let cases: &[(K, u64, usize, &[u8])] = &[
        (K::Ext2, 1024, 1080, &[0x53, 0xEF]),
        (K::Xfs, 0, 0, b"XFSB"),
        (K::Btrfs, 65600, 65600, b"_BHRfS_M"),
        (K::F2fs, 1024, 1024, &[0x10, 0x20, 0xF5, 0xF2]),
        (K::Fat, 82, 82, b"FAT32   "),
        (K::Fat, 54, 54, b"FAT16   "),
        (K::Exfat, 3, 3, b"EXFAT   "),
        (K::Ntfs, 3, 3, b"NTFS    "),
        (K::Swap, 4086, 4086, b"SWAPSPACE2"),
        (K::Swap, 65526, 65526, b"SWAPSPACE2"),
        (
            K::Bcache,
            4120,
            4120,
            &[
                0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA,
                0x6D, 0x81,
            ],
        ),
        (K::Iso9660, 32769, 32769, b"CD001"),
        (K::Squashfs, 0, 0, b"hsqs"),
        (K::MdRaid1, 0, 0, &[0xFC, 0x4E, 0x2B, 0xA9]),
        (K::MdRaid1, 4096, 4096, &[0xFC, 0x4E, 0x2B, 0xA9]),
        (K::MdRaid1, 8_380_416, 8_380_416, &[0xFC, 0x4E, 0x2B, 0xA9]),
        (
            K::MdRaid090,
            8_323_072,
            8_323_072,
            &[0xFC, 0x4E, 0x2B, 0xA9],
        ),
        (K::GptPrimary, 512, 512, b"EFI PART"),
        (K::GptPrimary, 4096, 4096, b"EFI PART"),
        (K::GptBackup, 8_388_096, 8_388_096, b"EFI PART"),
        (K::Luks1, 0, 0, b"LUKS\xBA\xBE\x00\x01"),
        (K::Luks2, 0, 0, b"LUKS\xBA\xBE\x00\x02"),
        (K::Luks2Second, 16384, 16384, b"SKUL\xBA\xBE\x00\x02"),
        // The four ZFS labels begin at 0, 256 KiB and 512 KiB and 256 KiB before the end.
        (K::Zfs, 0, 131_072, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0]),
        (
            K::Zfs,
            262_144,
            262_144 + 131_072 + 4096,
            &[0, 0, 0, 0, 0, 0xBA, 0xB1, 0x0C],
        ),
        (
            K::Zfs,
            7_864_320,
            7_864_320 + 131_072,
            &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0],
        ),
        (
            K::Zfs,
            8_126_464,
            8_126_464 + 131_072,
            &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0],
        ),
    ];
    for (kind, offset, place, bytes) in cases {
        assert_eq!(find(&[(*place, bytes)]), [(*kind, *offset)], "{kind}");
    }
}

#[test]
fn ext_generations_are_distinguished_by_their_features() {
    let with = |compatible: u8, incompatible: u8| {
        find(&[
            (1080, &[0x53, 0xEF]),
            (1024 + 0x5C, &[compatible]),
            (1024 + 0x60, &[incompatible]),
        ])
    };
    assert_eq!(with(0, 0x02), [(SignatureKind::Ext2, 1024)]);
    assert_eq!(with(4, 0x02), [(SignatureKind::Ext3, 1024)]);
    assert_eq!(with(4, 0x42), [(SignatureKind::Ext4, 1024)]);
    assert_eq!(with(0, 0x08), [(SignatureKind::ExtJournal, 1024)]);
}

#[test]
fn lvm_needs_both_halves_of_its_label_in_one_of_four_sectors() {
    for sector in 0..4 {
        let label = sector * 512;
        let found = find(&[(label, b"LABELONE"), (label + 24, b"LVM2 001")]);
        assert_eq!(found, [(SignatureKind::Lvm2, label as u64)]);
    }
    assert_eq!(find(&[(2048, b"LABELONE"), (2072, b"LVM2 001")]), []);
}

#[test]
fn a_boot_sector_is_a_partition_table_only_with_a_partition() {
    let entry = [0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    assert_eq!(find(&[(510, &[0x55, 0xAA])]), []);
    assert_eq!(
        find(&[(510, &[0x55, 0xAA]), (462, &entry)]),
        [(SignatureKind::Mbr, 0)]
    );
    let fat: &[(usize, &[u8])] = &[(510, &[0x55, 0xAA]), (462, &entry), (54, b"FAT16   ")];
    assert_eq!(find(fat), [(SignatureKind::Fat, 54)]);
}

proptest::proptest! {
    #[test]
    fn any_ends_are_examined_without_a_panic(head: Vec<u8>, tail: Vec<u8>, size: u64) {
        let _ = signatures(&head, &tail, Bytes::new(size));
    }
}
